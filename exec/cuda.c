#include "exec/cuda.h"

#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "exec/exec.h"
#include "exec/walk.h"

#define MODULE "parprof-cuda.so"

static const struct cuda_host host = {
    .abi = CUDA_MODULE_ABI,
#define HOST(type, name, parameters, arguments) .name = name,
#include "exec/cuda/host.def"
#undef HOST
};

static struct {
    const struct cuda_module *found;
    GError *missing;
} module;

static const struct cuda_module *refuse(GError **error, const char *path, const char *why)
{
    g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_UNAVAILABLE, "%s %s; build and install parprof again", path,
                why);
    return NULL;
}

/* The loader dies of a file that ends before what its header says. */
static bool is_whole(const char *path)
{
    Elf64_Ehdr head = {0};
    FILE *file = fopen(path, "rb");
    bool whole = !file || (fread(&head, sizeof head, 1, file) == 1 && !fseek(file, 0, SEEK_END) &&
                           (uint64_t)ftell(file) >= head.e_shoff + head.e_shnum * sizeof(Elf64_Shdr));
    if (file)
        fclose(file);
    return whole;
}

static const struct cuda_module *open_at(const char *path, GError **error)
{
    if (!is_whole(path))
        return refuse(error, path, "is no whole module");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        g_set_error(error, ENGINE_ERROR, ENGINE_ERROR_UNAVAILABLE,
                    "cannot open the CUDA module: %s; install the CUDA 13 runtime, cuBLAS, CUPTI and NCCL, "
                    "or name their "
                    "folders in LD_LIBRARY_PATH",
                    dlerror());
        return NULL;
    }
    cuda_module_open *open = (cuda_module_open *)dlsym(handle, CUDA_MODULE_SYMBOL);
    const struct cuda_module *found = open ? open(&host) : NULL;
    if (!found || found->abi != CUDA_MODULE_ABI || strcmp(found->version, PACKAGE_VERSION))
        return refuse(error, path, "is another version's module");
    return found;
}

static const struct cuda_module *search(GError **error)
{
    g_autofree char *program = g_file_read_link("/proc/self/exe", NULL);
    g_autofree char *beside = program ? g_path_get_dirname(program) : g_strdup(".");
    g_autofree char *above = g_path_get_dirname(beside); /* test programs are built in a folder below it */
    g_autofree char *moved =
        g_build_filename(above, "lib", "parprof", NULL); /* installed elsewhere than configured */
    const char *const folders[] = {beside, above, moved, PKGLIBDIR};

    for (unsigned i = 0; i < G_N_ELEMENTS(folders); i++) {
        g_autofree char *path = g_build_filename(folders[i], MODULE, NULL);
        if (g_file_test(path, G_FILE_TEST_EXISTS))
            return open_at(path, error);
    }
    g_set_error_literal(
        error, ENGINE_ERROR, ENGINE_ERROR_UNAVAILABLE,
        "this build has no CUDA module; configure --with-cuda where the CUDA toolkit is installed");
    return NULL;
}

/* CUDA is asked once a process: what it says first it says ever after. */
static void open_once(void)
{
    module.found = search(&module.missing);
}

const struct cuda_module *cuda_open(GError **error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_once);
    if (!module.found && error)
        *error = g_error_copy(module.missing);
    return module.found;
}

/* Without the driver's library nothing can run, and opening the module would cost every start 80 ms. */
static bool has_driver(GError **error)
{
    bool found = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!found)
        g_set_error_literal(
            error, ENGINE_ERROR, ENGINE_ERROR_UNAVAILABLE,
            "no NVIDIA driver here, there is no libcuda.so.1; install it, or use --backend cpu or sim");
    return found;
}

void cuda_release(void)
{
    if (module.found)
        module.found->release();
}

/* From any thread; the module's own is from one at a time. */
static bool probe(GError **error)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const struct cuda_module *cuda = has_driver(error) ? cuda_open(error) : NULL;
    bool here = cuda && cuda->probe(error);
    pthread_mutex_unlock(&lock);
    return here;
}

static uint32_t devices(void)
{
    const struct cuda_module *cuda = cuda_open(NULL);
    return cuda ? cuda->devices() : 0;
}

/* The backend says itself what does not fit, once it has asked the devices. */
static uint64_t extra_bytes(const struct plan *plan, const struct model *model)
{
    (void)plan;
    (void)model;
    return 0;
}

static bool run_plan(const struct run *run, struct trace *trace, GError **error)
{
    const struct cuda_module *cuda = cuda_open(error);
    bool stuck = false;
    if (!cuda || !cuda->probe(error) || !cuda->check(run->plan, error))
        return false;
    if (!run->model->executable || run->model->dtype == DTYPE_F64) {
        g_set_error(error, PLAN_ERROR, PLAN_ERROR_INPUT, "model %s has no kernels on GPUs in %s; give %s",
                    run->model->name, dtype_name(run->model->dtype),
                    run->model->executable ? "--dtype f32 or tf32" : "--backend sim or another --model");
        return false;
    }
    cuda->describe(run, trace);
    bool ok = walk_run(run, cuda->backend, trace, &stuck, error);
    if (!stuck)
        cuda->conclude(run, trace);
    if (!ok && stuck && error && *error)
        (*error)->code = ENGINE_ERROR_STUCK;
    return ok;
}

const struct engine cuda_engine = {
    .name = "cuda",
    .summary = "trains on this machine's NVIDIA GPUs, a stream per lane",
    .real = true,
    .probe = probe,
    .devices = devices,
    .algos = 1u << ALLREDUCE_WHOLE | 1u << ALLREDUCE_RING | 1u << ALLREDUCE_TREE |
             1u << ALLREDUCE_REDUCE_BROADCAST | 1u << ALLREDUCE_ALL_TO_ALL,
    .warmup_s = 1,
    .extra_bytes = extra_bytes,
    .run = run_plan,
};
