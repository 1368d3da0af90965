#include "exec/cuda-module.h"

void cuda_describe(const struct run *run, struct trace *trace)
{
    (void)run;
    trace_label_text(trace, "engine", "cuda");
}

void cuda_conclude(const struct run *run, struct trace *trace)
{
    (void)run;
    (void)trace;
}
