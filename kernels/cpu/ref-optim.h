/* kernels/cpu/ref-optim.h -- the reference optimizers, part of ref.h. */

static int ref_sgd(void *stream, size_t n, double lr, double momentum, const double *factor, const void *grad,
                   void *moment, void *weight)
{
    (void)stream;
    REAL *m = moment, *w = weight;
    for (size_t i = 0; i < n; i++) {
        double step = (factor ? factor[0] : 1) * ((const REAL *)grad)[i];
        if (m)
            step = m[i] = (REAL)(momentum * m[i] + step);
        w[i] = (REAL)(w[i] - lr * step);
    }
    return 0;
}

static int ref_adam(void *stream, size_t n, double lr, double beta1, double beta2, double epsilon, uint32_t t,
                    const double *factor, const void *grad, void *moment, void *variance, void *weight)
{
    (void)stream;
    REAL *m = moment, *v = variance, *w = weight;
    const double bias1 = 1 - pow(beta1, t), bias2 = 1 - pow(beta2, t);
    for (size_t i = 0; i < n; i++) {
        const double g = (factor ? factor[0] : 1) * ((const REAL *)grad)[i];
        m[i] = (REAL)(beta1 * m[i] + (1 - beta1) * g);
        v[i] = (REAL)(beta2 * v[i] + (1 - beta2) * g * g);
        w[i] = (REAL)(w[i] - lr * (m[i] / bias1) / (sqrt(v[i] / bias2) + epsilon));
    }
    return 0;
}

static int ref_sum_squares(void *stream, size_t n, const void *x, double *sum)
{
    (void)stream;
    for (size_t i = 0; i < n; i++)
        *sum += (double)((const REAL *)x)[i] * (double)((const REAL *)x)[i];
    return 0;
}

static int ref_clip_factor(void *stream, double max_norm, double *norm)
{
    (void)stream;
    const double factor = max_norm / (sqrt(norm[0]) + 1e-6);
    norm[1] = factor > 1 ? 1 : factor; /* not a number stays that */
    return 0;
}
