/* Cross-entropy. */
#include "kernels/cuda/device.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/table.h"

namespace k
{

template <int T>
__global__ void cross_entropy(size_t rows, size_t classes, float scale, const float *logits,
                              const int32_t *target, float *dlogits, double *losses)
{
    const size_t r = group_row<T>();
    const unsigned thread = group_thread<T>();
    if (r >= rows)
        return;
    const float *x = logits + r * classes;
    float *dx = dlogits + r * classes;
    const size_t right = size_t(target[r]);
    exponentials of_row;
    spread(classes, dx, thread, T, [&](size_t i, auto w) { of_row.add(load<w.value>(x + i)); });
    of_row.join<T>();
    const float inverse = 1 / of_row.sum;
    spread(classes, dx, thread, T, [&](size_t i, auto w) {
        pack<w.value> v = load<w.value>(x + i);
        for (int j = 0; j < w.value; j++)
            v.at[j] = (expf(v.at[j] - of_row.max) * inverse - (i + j == right ? 1 : 0)) * scale;
        store(dx + i, v);
    });
    if (thread == 0)
        losses[r] = log(double(of_row.sum)) + (double(of_row.max) - double(x[right]));
}

/* One block.  The first of several calls begins at 0. */
__global__ void add_losses(size_t rows, double scale, const double *losses, int first, double *loss)
{
    double sum = 0;
    for (size_t r = threadIdx.x; r < rows; r += 256)
        sum += losses[r];
    sum = total<256>(sum);
    if (threadIdx.x == 0)
        *loss = (first ? 0 : *loss) + scale * sum;
}

} // namespace k

/* As many rows at a time as there is scratch for their losses. */
int k_cuda_cross_entropy(void *stream, size_t rows, size_t classes, double weight, const void *logits,
                         const int32_t *target, void *dlogits, double *loss)
{
    const size_t room = k::SCRATCH_BYTES / sizeof(double);
    const double scale = rows ? weight / double(rows) : 0;
    double *losses = static_cast<double *>(static_cast<k_cuda_stream *>(stream)->scratch);
    size_t done = 0;
    int status = 0;
    do {
        const size_t now = std::min(rows - done, room), at = done * classes;
        const auto go = [&](auto t) {
            return k::launch<k::cross_entropy<t.value>>(stream, t.grid(now), t.block(), 0, now, classes,
                                                        float(scale), k::floats(logits) + at, target + done,
                                                        k::floats(dlogits) + at, losses);
        };
        /* Few long rows at a time, so that the second look at them still finds them in the cache. */
        status = classes > 4096 ? go(k::threads_a_row<1024>{}) : k::by_groups(now, classes, go);
        if (!status)
            status = k::launch<k::add_losses>(stream, 1, 256, 0, now, scale, losses, int(done == 0), loss);
        done += now;
    } while (done < rows && !status);
    return status;
}
