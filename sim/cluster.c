#include "sim/cluster.h"

#include "base/ini.h"

static bool read_cluster(struct ini *ini, struct cluster *c, GError **error)
{
    return ini_string(ini, "cluster", "name", NULL, &c->name, error) &&
           ini_string(ini, "cluster", "summary", "", &c->summary, error) &&
           ini_string(ini, "cluster", "source", NULL, &c->source, error) &&
           ini_uint(ini, "cluster", "devices", 1, 65536, NULL, &c->devices, error);
}

/* The ranges are wide, but keep any price of a sane plan far from overflow. */
static bool read_device(struct ini *ini, struct cluster *c, GError **error)
{
    return ini_double(ini, "device", "f32-tflops", 1e-6, 1e9, NULL, &c->f32_tflops, error) &&
           ini_double(ini, "device", "f64-tflops", 1e-6, 1e9, NULL, &c->f64_tflops, error) &&
           ini_double(ini, "device", "memory-gbs", 1e-6, 1e9, NULL, &c->memory_gbs, error) &&
           ini_double(ini, "device", "launch-us", 0, 1e9, NULL, &c->launch_us, error) &&
           ini_double(ini, "device", "efficiency", 1e-6, 1, NULL, &c->efficiency, error);
}

static bool read_link(struct ini *ini, struct cluster *c, GError **error)
{
    return ini_double(ini, "link", "gbps", 1e-6, 1e9, NULL, &c->link_gbps, error) &&
           ini_double(ini, "link", "us", 0, 1e9, NULL, &c->link_us, error);
}

/* Takes ini, which may be NULL with the error set. */
static struct cluster *cluster_read(struct ini *ini, GError **error)
{
    if (!ini)
        return NULL;
    struct cluster *c = g_new0(struct cluster, 1);
    bool good = read_cluster(ini, c, error) && read_device(ini, c, error) && read_link(ini, c, error) &&
                ini_done(ini, error);
    ini_free(ini);
    if (good)
        return c;
    cluster_free(c);
    return NULL;
}

struct cluster *cluster_load(const char *name, GError **error)
{
    return cluster_read(ini_load("clusters", name, error), error);
}

struct cluster *cluster_parse(const char *text, const char *file, GError **error)
{
    return cluster_read(ini_parse(text, file, error), error);
}

void cluster_free(struct cluster *c)
{
    if (!c)
        return;
    g_free(c->name);
    g_free(c->summary);
    g_free(c->source);
    g_free(c);
}

char **cluster_list(void)
{
    return ini_list("clusters");
}
