#!/bin/sh
# dynamic-shared.sh OBJECT... -- an assembly file that defines what the kernels in these objects declare
# "extern __shared__": all at one place, as large as a block's shared memory can be.
cat <<'END'
	.section .tbss,"awT",@nobits
	.balign 256
END
for name in emulated_dynamic_shared $(readelf -sW "$@" | awk '$4 == "TLS" && $7 == "UND" { print $8 }' |
	grep -v '^emulated_dynamic_shared' | sort -u); do
	printf '\t.globl %s\n\t.hidden %s\n\t.type %s, @object\n%s:\n' "$name" "$name" "$name" "$name"
done
cat <<'END'
	.zero 232448
	.globl emulated_dynamic_shared_end
	.hidden emulated_dynamic_shared_end
	.type emulated_dynamic_shared_end, @object
emulated_dynamic_shared_end:
	.zero 1
	.section .note.GNU-stack,"",@progbits
END
