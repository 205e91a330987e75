/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MCA parameters: registration from params.def and collectives.def, and the checks of their values.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"
#include "select/select.h"

hccl_params_t hccl_params = {
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) .name = value,
#include "base/params.def"
#undef HCCL_PARAM
};

#define VAR_INT MCA_BASE_VAR_TYPE_INT
#define VAR_SIZE MCA_BASE_VAR_TYPE_SIZE_T
#define VAR_BOOL MCA_BASE_VAR_TYPE_BOOL
#define VAR_TEXT MCA_BASE_VAR_TYPE_STRING

/* The first parameter whose text Open MPI could not read as a value of its type. */
static char unreadable[64];

/* The variable of environment.def that stands for a parameter, NULL: none. */
static const char *variable_of(const char *parameter)
{
    static const struct {
        const char *variable, *parameter;
    } list[] = {
#define HCCL_ENVIRONMENT(variable, parameter) {#variable, #parameter},
#include "base/environment.def"
#undef HCCL_ENVIRONMENT
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        if (0 == strcmp(list[i].parameter, parameter)) {
            return list[i].variable;
        }
    }
    return NULL;
}

/* Open MPI reads the value when the parameter is registered. Returns whether to unset it then. */
static bool lend_variable(const char *name, char *key, size_t len)
{
    const char *variable = variable_of(name);
    const char *value = NULL == variable ? NULL : getenv(variable);

    snprintf(key, len, "OMPI_MCA_coll_hccl_%s", name);
    return NULL != value && NULL == getenv(key) && 0 == setenv(key, value, 1);
}

static void register_one(const char *name, mca_base_var_type_t type, const char *text,
                         void *storage)
{
    char key[128];
    const bool lent = lend_variable(name, key, sizeof(key));
    int rc = mca_base_component_var_register(&mca_coll_hccl_component.collm_version, name, text,
                                             type, NULL, 0, 0, OPAL_INFO_LVL_4,
                                             MCA_BASE_VAR_SCOPE_ALL_EQ, storage);
    if (lent) {
        unsetenv(key);
    }
    if (rc < 0 && '\0' == unreadable[0]) {
        snprintf(unreadable, sizeof(unreadable), "%s", name);
    }
}

int hccl_params_register(void)
{
    char name[64];
    char text[160];
    unreadable[0] = '\0';
#define HCCL_PARAM(name_, type, value, minimum, maximum, same, text_) \
    hccl_params.name_ = value;                                        \
    register_one(#name_, VAR_##type, text_, &hccl_params.name_);
#include "base/params.def"
#undef HCCL_PARAM
    for (int i = 0; i < HCCL_COLL_COUNT; i++) {
        const char *coll = hccl_coll_info[i].name;
        hccl_params.offered[i] = true;
        hccl_params.algorithm[i] = (char *) (uintptr_t) "auto";
        snprintf(text, sizeof(text), "Serve MPI_%c%s, in all its forms", coll[0] - 'a' + 'A',
                 coll + 1);
        register_one(coll, VAR_BOOL, text, &hccl_params.offered[i]);
        snprintf(name, sizeof(name), "%s_algorithm", coll);
        snprintf(text, sizeof(text),
                 "Algorithm of MPI_%c%s wherever it fits, or auto; tools/hccl_plan lists them",
                 coll[0] - 'a' + 'A', coll + 1);
        register_one(name, VAR_TEXT, text, &hccl_params.algorithm[i]);
    }
    return OMPI_SUCCESS;
}

/* The value that the user gave, for messages. */
static const char *given(const char *name, char *buf, size_t len)
{
    char key[128];
    snprintf(key, sizeof(key), "OMPI_MCA_coll_hccl_%s", name);
    const char *variable = variable_of(name);
    const char *value = getenv(key);
    value = NULL == value && NULL != variable ? getenv(variable) : value;
    snprintf(buf, len, "%s", NULL == value ? "(from a file)" : value);
    return buf;
}

static int complain(const char *name, const char *value, const char *accepted)
{
    const char *variable = variable_of(name);
    if (0 == OMPI_PROC_MY_NAME->vpid) {
        hccl_log_error("parameter coll_hccl_%s%s%s%s: \"%s\" is not accepted; accepted: %s. "
                       "The component does not run with it",
                       name, NULL == variable ? "" : " (", NULL == variable ? "" : variable,
                       NULL == variable ? "" : ")", value, accepted);
    }
    return OMPI_ERR_BAD_PARAM;
}

static int check_number(const char *name, size_t value, size_t minimum, size_t maximum,
                        bool negative)
{
    char accepted[96];
    char text[96];
    if (!negative && value >= minimum && value <= maximum) {
        return OMPI_SUCCESS;
    }
    snprintf(accepted, sizeof(accepted), "%zu to %zu", minimum, maximum);
    return complain(name, given(name, text, sizeof(text)), accepted);
}

static int check_unreadable(void)
{
    char text[96];
    if ('\0' == unreadable[0]) {
        return OMPI_SUCCESS;
    }
    return complain(unreadable, given(unreadable, text, sizeof(text)),
                    "a number (k, m and g may follow), or true and false for a switch");
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
    return complain("slots", text, "8, 16, 32 and 64");
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
    return complain("radix", text, "0 and 2 to 64");
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
        return complain("topology", text, why);
    }
    nodes = shape->nnodes;
    hccl_shape_free(shape);
    if (NULL != links && links->weighted && links->nhosts != nodes) {
        snprintf(
            why, sizeof(why),
            "a text with as many nodes as topology file %.200s has hosts, %d (for %d ranks this "
            "one has %d)",
            hccl_params.topo_file, links->nhosts, size, nodes);
        return complain("topology", text, why);
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
            && (strlen(text) != strspn(text, "0123456789") || strlen(text) < 1 || strlen(text) > 4
                || 1023 < strtol(text, NULL, 10)))) {
        return complain("ib_gid_index", NULL == text ? "" : text, "auto, or 0 to 1023");
    }
    if (HCCL_OK != hccl_port_list_read(hccl_params.ib_hca, &list, why, sizeof(why))) {
        return complain("ib_hca", hccl_params.ib_hca, why);
    }
    if (HCCL_OK != hccl_port_map_find(hccl_params_port_map(), 0, 0, &name, why, sizeof(why))) {
        return complain("port_map", hccl_params_port_map(), why);
    }
    return OMPI_SUCCESS;
}

static const char *const rdma_names[] = {
    [HCCL_RDMA_OFF] = "off",
    [HCCL_RDMA_AUTO] = "auto",
    [HCCL_RDMA_ON] = "on",
};

hccl_rdma_use_t hccl_params_rdma(void)
{
    int i = HCCL_RDMA_ON;
    while (i > HCCL_RDMA_UNKNOWN
           && (NULL == hccl_params.rdma || 0 != strcmp(hccl_params.rdma, rdma_names[i]))) {
        i--;
    }
    return (hccl_rdma_use_t) i;
}

static int check_rdma(void)
{
    char text[32];
    if (HCCL_RDMA_UNKNOWN == hccl_params_rdma()) {
        return complain("rdma", NULL == hccl_params.rdma ? "" : hccl_params.rdma,
                        "off, auto and on");
    }
    if (0 != (hccl_params.rdma_slots & (hccl_params.rdma_slots - 1))) {
        snprintf(text, sizeof(text), "%d", hccl_params.rdma_slots);
        return complain("rdma_slots", text, "4, 8, 16, 32, 64, 128 and 256");
    }
    if (0 != hccl_params.rdma_tc % 4) {
        snprintf(text, sizeof(text), "%d", hccl_params.rdma_tc);
        return complain("rdma_tc", text, "multiples of 4 from 0 to 252");
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
    return complain("inject", text,
                    "region:RANK, map:RANK, cell:RANK, heap:RANK, nomem:RANK or qp:RANK");
}

static const char *const zero_copy_names[] = {
    [HCCL_ZERO_COPY_NEVER] = "never",
    [HCCL_ZERO_COPY_TRIAL] = "trial",
    [HCCL_ZERO_COPY_ALWAYS] = "always",
};

hccl_zero_copy_t hccl_params_zero_copy(void)
{
    int i = HCCL_ZERO_COPY_ALWAYS;
    while (i > HCCL_ZERO_COPY_UNKNOWN
           && (NULL == hccl_params.zero_copy
               || 0 != strcmp(hccl_params.zero_copy, zero_copy_names[i]))) {
        i--;
    }
    return (hccl_zero_copy_t) i;
}

static int check_zero_copy(void)
{
    if (hccl_params_zero_copy() >= HCCL_ZERO_COPY_NEVER) {
        return OMPI_SUCCESS;
    }
    return complain("zero_copy", NULL == hccl_params.zero_copy ? "" : hccl_params.zero_copy,
                    "trial, always and never");
}

static const char *const land_names[] = {
    [HCCL_LAND_NEVER] = "never",
    [HCCL_LAND_RDMA] = "rdma",
    [HCCL_LAND_ALWAYS] = "always",
};

hccl_land_t hccl_params_land(void)
{
    int i = HCCL_LAND_ALWAYS;
    while (i > HCCL_LAND_UNKNOWN
           && (NULL == hccl_params.land || 0 != strcmp(hccl_params.land, land_names[i]))) {
        i--;
    }
    return (hccl_land_t) i;
}

static int check_land(void)
{
    if (hccl_params_land() >= HCCL_LAND_NEVER) {
        return OMPI_SUCCESS;
    }
    return complain("land", NULL == hccl_params.land ? "" : hccl_params.land,
                    "rdma, always and never");
}

static int check_algorithms(void)
{
    char name[64];
    char names[512];
    for (int i = 0; i < HCCL_COLL_COUNT; i++) {
        if (HCCL_OK
            != hccl_select_force((hccl_coll_t) i, hccl_params.algorithm[i], names, sizeof(names))) {
            snprintf(name, sizeof(name), "%s_algorithm", hccl_coll_info[i].name);
            return complain(name, hccl_params.algorithm[i], names);
        }
    }
    return OMPI_SUCCESS;
}

int hccl_params_check(void)
{
    static int (*const checks[])(void) = {check_unreadable, check_radix, check_ranges,
                                          check_slots,      check_file,  check_topology,
                                          check_ports,      check_rdma,  check_inject,
                                          check_zero_copy,  check_land,  check_algorithms};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        int rc = checks[i]();
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

/* FNV-1a. */
static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
    return NULL == text ? hash : mix(hash, text, strlen(text) + 1);
}

#define MIX_SAME_INT(name) mix(hash, &hccl_params.name, sizeof(hccl_params.name))
#define MIX_SAME_SIZE(name) mix(hash, &hccl_params.name, sizeof(hccl_params.name))
#define MIX_SAME_BOOL(name) mix(hash, &hccl_params.name, sizeof(hccl_params.name))
#define MIX_SAME_TEXT(name) mix_text(hash, hccl_params.name)
#define MIX_OWN_INT(name) hash
#define MIX_OWN_SIZE(name) hash
#define MIX_OWN_BOOL(name) hash
#define MIX_OWN_TEXT(name) hash

bool hccl_params_is_given(const char *name)
{
    mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
    int index = mca_base_var_find("ompi", "coll", "hccl", name);
    return index >= 0 && OPAL_SUCCESS == mca_base_var_get_value(index, NULL, &source, NULL)
           && MCA_BASE_VAR_SOURCE_DEFAULT != source;
}

uint64_t hccl_params_hash(void)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) \
    hash = MIX_##same##_##type(name);
#include "base/params.def"
#undef HCCL_PARAM
    if (NULL != links) {
        hash = mix(hash, &links->hash, sizeof(links->hash));
    }
    for (int i = 0; i < HCCL_COLL_COUNT; i++) {
        hash = mix(hash, &hccl_params.offered[i], sizeof(bool));
        hash = mix_text(hash, hccl_params.algorithm[i]);
    }
    return hash;
}
