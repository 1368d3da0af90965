#include "exec/cuda-module.h"

void cuda_describe(const struct run *run, struct trace *trace)
{
    (void)run;
    trace_label_text(trace, "engine", "cuda");
}
