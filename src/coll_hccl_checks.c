/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether the values of MCA parameters are in their ranges and make sense, and what their words mean.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"
#include "select/select.h"

static int check_number(const char *name, size_t value, size_t minimum, size_t maximum,
                        bool negative)
{
    char accepted[96];
    char text[96];
    if (!negative && value >= minimum && value <= maximum) {
        return OMPI_SUCCESS;
    }
    snprintf(accepted, sizeof(accepted), "%zu to %zu", minimum, maximum);
    return hccl_params_complain(name, hccl_params_text(name, text, sizeof(text)), accepted);
}

#define CHECK_INT(name, minimum, maximum)                                                  \
    check_number(#name, (size_t) hccl_params.name, (size_t) (minimum), (size_t) (maximum), \
                 hccl_params.name < 0)
#define CHECK_SIZE(name, minimum, maximum) \
    check_number(#name, hccl_params.name, (minimum), (maximum), false)
#define CHECK_BOOL(name, minimum, maximum) OMPI_SUCCESS
#define CHECK_TEXT(name, minimum, maximum) OMPI_SUCCESS

static int check_ranges(void)
{
    int rc = OMPI_SUCCESS;
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) \
    rc = OMPI_SUCCESS != rc ? rc : CHECK_##type(name, minimum, maximum);
#include "base/params.def"
#undef HCCL_PARAM
    return rc;
}

static int check_slots(void)
{
    char text[32];
    if (0 == (hccl_params.slots & (hccl_params.slots - 1))) {
        return OMPI_SUCCESS;
    }
    snprintf(text, sizeof(text), "%d", hccl_params.slots);
    return hccl_params_complain("slots", text, "8, 16, 32 and 64");
}

/* Before its range, whose message would take 1 for a value. */
static int check_radix(void)
{
    const int radix = hccl_params.radix;
    char text[32];
    if (0 == radix || (2 <= radix && HCCL_MOST_RADIX >= radix)) {
        return OMPI_SUCCESS;
    }
    snprintf(text, sizeof(text), "%d", radix);
    return hccl_params_complain("radix", text, "0 and 2 to 64");
}

static hccl_links_t *links;

const hccl_links_t *hccl_params_links(void)
{
    return links;
}

void hccl_params_forget(void)
{
    hccl_links_free(links);
    links = NULL;
}

static bool is_empty(const char *text)
{
    return NULL == text || '\0' == text[0];
}

const char *hccl_params_topology(void)
{
    const char *text = hccl_params.topology;
    return !is_empty(text) ? text : NULL != links ? links->topology : "";
}

const char *hccl_params_port_map(void)
{
    const char *text = hccl_params.port_map;
    return !is_empty(text) ? text : NULL != links ? links->ports : "";
}

/* What is wrong in a file is wrong on all hosts; that there is none may be so on one. */
static int check_file(void)
{
    char why[HCCL_LINKS_WHY];
    hccl_params_forget();
    if (is_empty(hccl_params.topo_file)) {
        return OMPI_SUCCESS;
    }
    int rc = hccl_links_read(hccl_params.topo_file, &links, why);
    if (HCCL_OK == rc) {
        return OMPI_SUCCESS;
    }
    links = NULL;
    if (0 == OMPI_PROC_MY_NAME->vpid
        || (HCCL_ERR_NOTSUP == rc && 0 == ompi_process_info.my_local_rank)) {
        hccl_log_error("parameter coll_hccl_topo_file (HCCL_TOPO_FILE): %s. The component does not "
                       "run with it",
                       why);
    }
    return OMPI_ERR_BAD_PARAM;
}

static int check_topology(void)
{
    char why[512];
    hccl_shape_t *shape;
    int size = (int) ompi_process_info.num_procs, nodes;
    const char *text = hccl_params_topology();
    if ('\0' == text[0]) {
        return OMPI_SUCCESS;
    }
    if (HCCL_OK != hccl_shape_from_text(text, size, &shape, why, sizeof(why))) {
        return hccl_params_complain("topology", text, why);
    }
    nodes = shape->nnodes;
    hccl_shape_free(shape);
    if (NULL != links && links->weighted && links->nhosts != nodes) {
        snprintf(
            why, sizeof(why),
            "a text with as many nodes as topology file %.200s has hosts, %d (for %d ranks this "
            "one has %d)",
            hccl_params.topo_file, links->nhosts, size, nodes);
        return hccl_params_complain("topology", text, why);
    }
    return OMPI_SUCCESS;
}

void hccl_params_ports(hccl_port_choice_t *choice)
{
    char why[200];
    choice->gid_index = 0 == strcmp(hccl_params.ib_gid_index, "auto")
                            ? -1
                            : (int) strtol(hccl_params.ib_gid_index, NULL, 10);
    if (HCCL_OK != hccl_port_list_read(hccl_params.ib_hca, &choice->list, why, sizeof(why))) {
        choice->list.n = 0; /* check_ports has refused it */
    }
}

static int check_ports(void)
{
    char why[200];
    hccl_port_list_t list;
    hccl_port_name_t name;
    const char *text = hccl_params.ib_gid_index;
    if (NULL == text
        || (0 != strcmp(text, "auto")
            && (strlen(text) != strspn(text, "0123456789") || strlen(text) < 1 || strlen(text) > 3
                || 255 < strtol(text, NULL, 10)))) {
        return hccl_params_complain("ib_gid_index", NULL == text ? "" : text, "auto, or 0 to 255");
    }
    if (HCCL_OK != hccl_port_list_read(hccl_params.ib_hca, &list, why, sizeof(why))) {
        return hccl_params_complain("ib_hca", hccl_params.ib_hca, why);
    }
    if (HCCL_OK != hccl_port_map_find(hccl_params_port_map(), 0, 0, &name, why, sizeof(why))) {
        return hccl_params_complain("port_map", hccl_params_port_map(), why);
    }
    return OMPI_SUCCESS;
}

/* Which of words[0] to words[last] a text is; -1: none. */
static int word_of(const char *const *words, int last, const char *text)
{
    int i = last;
    while (i >= 0 && (NULL == text || 0 != strcmp(text, words[i]))) {
        i--;
    }
    return i;
}

static const char *const rdma_names[] = {
    [HCCL_RDMA_OFF] = "off",
    [HCCL_RDMA_AUTO] = "auto",
    [HCCL_RDMA_ON] = "on",
};

hccl_rdma_use_t hccl_params_rdma(void)
{
    return (hccl_rdma_use_t) word_of(rdma_names, HCCL_RDMA_ON, hccl_params.rdma);
}

static int check_rdma(void)
{
    char text[32];
    if (HCCL_RDMA_UNKNOWN == hccl_params_rdma()) {
        return hccl_params_complain("rdma", NULL == hccl_params.rdma ? "" : hccl_params.rdma,
                                    "off, auto and on");
    }
    if (0 != (hccl_params.rdma_slots & (hccl_params.rdma_slots - 1))) {
        snprintf(text, sizeof(text), "%d", hccl_params.rdma_slots);
        return hccl_params_complain("rdma_slots", text, "4, 8, 16, 32, 64, 128 and 256");
    }
    if (0 != hccl_params.rdma_tc % 4) {
        snprintf(text, sizeof(text), "%d", hccl_params.rdma_tc);
        return hccl_params_complain("rdma_tc", text, "multiples of 4 from 0 to 252");
    }
    return OMPI_SUCCESS;
}

static int check_inject(void)
{
    const char *text = NULL == hccl_params.inject ? "" : hccl_params.inject;
    char what[16];
    char rest;
    int rank;
    if ('\0' == text[0]
        || (2 == sscanf(text, "%15[a-z]:%d%c", what, &rank, &rest) && rank >= 0
            && (0 == strcmp(what, "region") || 0 == strcmp(what, "map") || 0 == strcmp(what, "cell")
                || 0 == strcmp(what, "heap") || 0 == strcmp(what, "nomem")
                || 0 == strcmp(what, "qp")))) {
        return OMPI_SUCCESS;
    }
    return hccl_params_complain(
        "inject", text, "region:RANK, map:RANK, cell:RANK, heap:RANK, nomem:RANK or qp:RANK");
}

static const char *const zero_copy_names[] = {
    [HCCL_ZERO_COPY_NEVER] = "never",
    [HCCL_ZERO_COPY_TRIAL] = "trial",
    [HCCL_ZERO_COPY_ALWAYS] = "always",
};

hccl_zero_copy_t hccl_params_zero_copy(void)
{
    return (hccl_zero_copy_t) word_of(zero_copy_names, HCCL_ZERO_COPY_ALWAYS,
                                      hccl_params.zero_copy);
}

static int check_zero_copy(void)
{
    if (hccl_params_zero_copy() >= HCCL_ZERO_COPY_NEVER) {
        return OMPI_SUCCESS;
    }
    return hccl_params_complain("zero_copy",
                                NULL == hccl_params.zero_copy ? "" : hccl_params.zero_copy,
                                "trial, always and never");
}

static const char *const land_names[] = {
    [HCCL_LAND_NEVER] = "never",
    [HCCL_LAND_RDMA] = "rdma",
    [HCCL_LAND_ALWAYS] = "always",
};

hccl_land_t hccl_params_land(void)
{
    return (hccl_land_t) word_of(land_names, HCCL_LAND_ALWAYS, hccl_params.land);
}

static int check_land(void)
{
    if (hccl_params_land() >= HCCL_LAND_NEVER) {
        return OMPI_SUCCESS;
    }
    return hccl_params_complain("land", NULL == hccl_params.land ? "" : hccl_params.land,
                                "rdma, always and never");
}

static int check_algorithms(void)
{
    char name[64];
    char names[512];
    for (int i = 0; i < HCCL_COLL_COUNT; i++) {
        /* Open MPI makes NULL of an empty text. */
        const char *wanted = is_empty(hccl_params.algorithm[i]) ? "" : hccl_params.algorithm[i];
        if (HCCL_OK != hccl_select_force((hccl_coll_t) i, wanted, names, sizeof(names))) {
            snprintf(name, sizeof(name), "%s_algorithm", hccl_coll_info[i].name);
            return hccl_params_complain(name, wanted, names);
        }
    }
    return OMPI_SUCCESS;
}

int hccl_params_check(void)
{
    static int (*const checks[])(void) = {hccl_params_readable, check_radix, check_ranges,
                                          check_slots,          check_file,  check_topology,
                                          check_ports,          check_rdma,  check_inject,
                                          check_zero_copy,      check_land,  check_algorithms};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        int rc = checks[i]();
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}
