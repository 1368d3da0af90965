#include "sim/cluster.h"

#include "base/ini.h"

static bool read_cluster(struct ini *ini, struct cluster *c, GError **error)
{
    const uint32_t one = 1;
    return ini_string(ini, "cluster", "name", NULL, &c->name, error) &&
           ini_string(ini, "cluster", "summary", "", &c->summary, error) &&
           ini_string(ini, "cluster", "source", NULL, &c->source, error) &&
           ini_uint(ini, "cluster", "nodes", 1, 4096, &one, &c->nodes, error) &&
           ini_uint(ini, "cluster", "devices", 1, 65536, NULL, &c->devices, error);
}

/* The ranges are wide, but keep any price of a sane plan far from overflow. */
static bool read_device(struct ini *ini, struct cluster *c, GError **error)
{
    const uint32_t unknown = 0;
    const double none = 0;
    return ini_double(ini, "device", "f32-tflops", 1e-6, 1e9, NULL, &c->f32_tflops, error) &&
           ini_double(ini, "device", "f64-tflops", 1e-6, 1e9, NULL, &c->f64_tflops, error) &&
           ini_double(ini, "device", "memory-gbs", 1e-6, 1e9, NULL, &c->memory_gbs, error) &&
           ini_double(ini, "device", "launch-us", 0, 1e9, NULL, &c->launch_us, error) &&
           ini_double(ini, "device", "efficiency", 1e-6, 1, NULL, &c->efficiency, error) &&
           ini_double(ini, "device", "memory-gib", 1e-6, 1e9, &none, &c->memory_gib, error) &&
           ini_double(ini, "device", "tf32-tflops", 1e-6, 1e9, &none, &c->tf32_tflops, error) &&
           ini_uint(ini, "device", "sms", 1, 65536, &unknown, &c->sms, error);
}

static bool read_link(struct ini *ini, struct cluster *c, GError **error)
{
    static const char *const shared[] = {"device", "node", NULL};
    const unsigned own = 0;
    unsigned by;
    if (!ini_double(ini, "link", "gbps", 1e-6, 1e9, NULL, &c->link_gbps, error) ||
        !ini_double(ini, "link", "us", 0, 1e9, NULL, &c->link_us, error) ||
        !ini_choice(ini, "link", "shared", shared, &own, &by, error))
        return false;
    c->link_shared = by != own;
    return true;
}

static bool read_network(struct ini *ini, struct cluster *c, GError **error)
{
    return c->nodes == 1 || (ini_double(ini, "network", "gbps", 1e-6, 1e9, NULL, &c->net_gbps, error) &&
                             ini_double(ini, "network", "us", 0, 1e9, NULL, &c->net_us, error) &&
                             ini_uint(ini, "network", "cards", 1, 65536, NULL, &c->net_cards, error));
}

static bool has_group(const struct ini *ini, const char *group)
{
    g_auto(GStrv) groups = ini_groups(ini);
    return g_strv_contains((const char *const *)groups, group);
}

static bool read_nccl(struct ini *ini, struct cluster *c, GError **error)
{
    static const char *const arches[] = {"volta", "ampere", "hopper", "blackwell", NULL};
    static const char *const paths[] = {"nvlink", "pci", NULL}, *const answers[] = {"no", "yes", NULL},
                             *const cpus[] = {"intel", "amd", NULL};
    const unsigned no = 0;
    unsigned arch, path, nvls, cpu;
    struct nccl_topo *t = &c->nccl;
    c->nccl_known = has_group(ini, "nccl");
    if (!c->nccl_known)
        return true;
    if (!ini_choice(ini, "nccl", "arch", arches, NULL, &arch, error) ||
        !ini_uint(ini, "nccl", "channels", 1, 64, NULL, &t->channels, error) ||
        !ini_double(ini, "nccl", "intra-gbs", 1e-6, 1e9, NULL, &t->intra_gbs, error) ||
        (c->nodes > 1 && !ini_double(ini, "nccl", "inter-gbs", 1e-6, 1e9, NULL, &t->inter_gbs, error)) ||
        !ini_choice(ini, "nccl", "path", paths, NULL, &path, error) ||
        !ini_choice(ini, "nccl", "nvls", answers, &no, &nvls, error) ||
        !ini_choice(ini, "nccl", "cpu", cpus, NULL, &cpu, error))
        return false;
    t->arch = (uint8_t)arch;
    t->nvlink = path == 0;
    t->nvls = nvls;
    t->amd = cpu;
    return true;
}

/* Takes ini, which may be NULL with the error set. */
static struct cluster *cluster_read(struct ini *ini, GError **error)
{
    if (!ini)
        return NULL;
    struct cluster *c = g_new0(struct cluster, 1);
    bool good = read_cluster(ini, c, error) && read_device(ini, c, error) && read_link(ini, c, error) &&
                read_network(ini, c, error) && read_nccl(ini, c, error) && ini_done(ini, error);
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
