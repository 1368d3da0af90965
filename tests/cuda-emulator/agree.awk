# tests/cuda-emulator/agree.awk -- what the stand-in headers declare, as a list of macro calls for agree.cpp.  The headers are
# written so that this suffices; headers/vector_types.h says how.
function say(call) {
    calls = calls call "\n"
}
function close_block(name) {
    say("TYPE(" name ")")
    for (i = 0; i < n; i++)
        say("FIELD(" name ", " field[i] ")")
    n = 0
}
/^#define STAND_IN_|^#define CUPTI_RECORD / { next }
/^#define [A-Za-z0-9_]+_INITIALIZER/ { next } # as some functions below, written out in agree.cpp
/^#define [A-Za-z0-9_]+ +[a-z][A-Za-z]+_v[0-9]+$/ { say("FUNCTION(" $2 ")"); next }
/^#define [A-Za-z0-9_]+ [^{]/ {
    say("CONSTANT(" $2 ")")
    if ($2 ~ /^(CUDART|CUPTI_API|NCCL)_VERSION/)
        other = other " || " $2 " != " $3
    next
}
/^(typedef )?(enum|struct|union)[^;]*{$/ {
    block = $0
    sub(/^typedef /, "", block)
    kind = block ~ /^enum/ ? "enum" : "struct"
    name = block
    sub(/ *{$/, "", name)
    sub(/.*[ )]/, "", name)
    next
}
kind && /^}/ {
    if (/^};/)
        close_block(name)
    else {
        sub(/^} */, "")
        sub(/;.*/, "")
        close_block($0)
    }
    kind = ""
    next
}
kind == "enum" {
    sub(/^ */, "")
    sub(/ =.*/, "")
    say("CONSTANT(" $0 ")")
    next
}
kind == "struct" {
    if (/\(|^#/ || !/;$/)
        next
    sub(/;$/, "")
    sub(/\[.*/, "")
    sub(/.*[ *]/, "")
    if ($0 !~ /^gap[0-9]*$/)
        field[n++] = $0
    next
}
/^typedef .*\(\*/ {
    sub(/^[^(]*\(\*/, "")
    sub(/\).*/, "")
    say("TYPE(" $0 ")")
    next
}
/^typedef .*;$/ {
    sub(/;$/, "")
    sub(/.*[ *]/, "")
    say("TYPE(" $0 ")")
    next
}
/^[a-z].*\(/ {
    sub(/\(.*/, "")
    sub(/.*[ *]/, "")
    if (!/GemmEx|BatchedEx/)
        say("FUNCTION(" $0 ")")
}
END {
    print "#if 0" other
    print "puts(\"the headers here are of another version than the stand-ins\");"
    printf "#else\n%s#endif\n", calls
}
