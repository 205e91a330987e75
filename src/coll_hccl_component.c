/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The component: opened once per process, before MPI_Init's exchange, where it publishes what other
 * processes must know of this one.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pool.h"
#include "coll_hccl.h"
#include "hccl_config.h"
#include "kernel/copy.h"
#include "topo/detect.h"

static int open_component(void);
static int close_component(void);
static int init_query(bool enable_progress_threads, bool enable_mpi_threads);

const mca_coll_base_component_t mca_coll_hccl_component = {
    .collm_version =
        {
            MCA_COLL_BASE_VERSION_2_0_0,
            .mca_component_name = "hccl",
            MCA_BASE_MAKE_VERSION(component, HCCL_VERSION_MAJOR, HCCL_VERSION_MINOR,
                                  HCCL_VERSION_RELEASE),
            .mca_open_component = open_component,
            .mca_close_component = close_component,
            .mca_register_component_params = hccl_params_register,
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = hccl_module_query,
};

bool hccl_component_works;

/* Minima of the parameters region_size and heap_size. */
#define REGION_LEAST ((uint64_t) 16 << 20)
#define HEAP_LEAST ((uint64_t) 1 << 20)

int hccl_rdma_tag;

/* Whether the parameter inject names this step and this process. */
static bool injected(const char *step)
{
    char what[16];
    int rank;
    return NULL != hccl_params.inject && 2 == sscanf(hccl_params.inject, "%15[a-z]:%d", what, &rank)
           && (uint32_t) rank == OMPI_PROC_MY_NAME->vpid && 0 == strcmp(what, step);
}

/* The largest power of two up to n. */
static int power_below(int n)
{
    int power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

/* Tags: a stretch below half of what the network layer offers below zero, where no other collective
 * component has its tags, and which a layer that drops the sign (mtl/portals4) does not take for
 * tags that users are likely to choose. For each kind of operations (exec/turn.c), and the same
 * again for what an inter-communicator's operations send inside their local group, on the local
 * group's own communicator. The next one is RDMA's. */
static void set_tags(void)
{
    int span = power_below(mca_pml.pml_max_tag) / 2;
    hccl_engine.tag_ids = span / (2 * HCCL_TAG_KINDS * HCCL_CURSORS);
    hccl_engine.tag_base = -(mca_pml.pml_max_tag / 2) - span;
    hccl_rdma_tag = hccl_engine.tag_base + span;
}

static void set_engine(void)
{
    hccl_engine.slot_bytes[HCCL_LANE_SMALL] = hccl_params.slot_small;
    hccl_engine.slot_bytes[HCCL_LANE_LARGE] = hccl_params.slot_large;
    hccl_engine.slot_bytes[HCCL_LANE_WIDE] = hccl_params.slot_wide;
    hccl_engine.slots = (size_t) hccl_params.slots;
    hccl_engine.pipeline = hccl_params.pipeline;
    hccl_engine.spin = hccl_params.spin;
    hccl_engine.dials = (hccl_dials_t){.network_first = 100 - hccl_params.split,
                                       .radix = hccl_params.radix,
                                       .tree_radix = hccl_params.tree_radix,
                                       .rings = hccl_params.rings};
    hccl_engine.sleep_after = hccl_params.sleep_after;
    hccl_engine.shared_memory = hccl_params.shared_memory;
    hccl_engine.settings_hash = hccl_params_hash();
    hccl_engine.zero_copy = hccl_params_zero_copy();
    hccl_engine.zero_copy_min = hccl_params.zero_copy_min;
    hccl_engine.land = hccl_params_land();
    hccl_engine.inject_heap = injected("heap");
    hccl_engine.inject = injected("map") || injected("cell") || injected("nomem");
    hccl_engine.oversubscribed = false; /* coll_hccl_module.c finds out */
}

/* The number of this host in the topology file, if it has weights. */
static void find_site(hccl_card_t *card)
{
    char name[256] = "";
    const hccl_links_t *links = hccl_params_links();
    if (NULL == links || !links->weighted || 0 != gethostname(name, sizeof(name) - 1)) {
        return;
    }
    card->site = hccl_links_find(links, name);
    if (0 > card->site && 0 == ompi_process_info.my_local_rank) {
        hccl_log_warn(
            "topology file %s has no host %s: communicators with ranks of this host order "
            "their rings by rank",
            hccl_params.topo_file, name);
    }
}

/* Replaces the detected place by the one that the topology parameter gives this rank, and its
 * index in its node. Ranks that the text puts on one node stay apart when they are on different
 * hosts. */
static int override_place(hccl_card_t *card, int *index)
{
    char why[512];
    hccl_shape_t *shape;
    const char *text = hccl_params_topology();
    if ('\0' == text[0]) {
        find_site(card);
        return OMPI_SUCCESS;
    }
    int size = (int) ompi_process_info.num_procs;
    if (HCCL_OK != hccl_shape_from_text(text, size, &shape, why, sizeof(why))) {
        return OMPI_ERR_BAD_PARAM;
    }
    const hccl_place_t *place = &shape->place[OMPI_PROC_MY_NAME->vpid];
    uint64_t node = (uint64_t) (place->node + 1) * UINT64_C(0x9e3779b97f4a7c15);
    card->host_key = 0 == card->host_key ? 0 : card->host_key ^ node;
    card->package = place->package;
    card->numa = place->numa;
    card->l3 = place->l3;
    card->core = place->core;
    *index = shape->local_of[OMPI_PROC_MY_NAME->vpid];
    card->site = place->node;
    card->seat = shape->ringed ? shape->seat[place->node] : -1;
    card->leads = shape->led && *index == shape->lead[place->node];
    hccl_shape_free(shape);
    return OMPI_SUCCESS;
}

/* What of a size goes with the limit on address space (ulimit -v): the ranks of a node map each other's
 * regions and heaps, all regions together get a quarter of it at most, and so do all heaps. */
static uint64_t fit(const char *what, uint64_t size, uint64_t least)
{
    const uint64_t page = 4096;
    struct rlimit limit;
    if (0 != getrlimit(RLIMIT_AS, &limit) || RLIM_INFINITY == limit.rlim_cur) {
        return size;
    }
    uint64_t share = limit.rlim_cur / 4 / (ompi_process_info.num_local_peers + 1) / page * page;
    share = share < least ? least : share;
    if (size > share) {
        hccl_log_info("%s of %" PRIu64 " bytes instead of %" PRIu64
                      ": the limit on address space (ulimit -v) is %" PRIu64,
                      what, share, size, (uint64_t) limit.rlim_cur);
        size = share;
    }
    return size;
}

/* The heap for MPI_Alloc_mem. Without one these blocks come from malloc, and nobody else notices. */
static void make_heap(const hccl_region_card_t *region)
{
    const char *why;
    hccl_heap_card_t heap;
    if (!hccl_params.alloc_mem) {
        return;
    }
    if (HCCL_OK
        == hccl_heap_create(fit("a heap", hccl_params.heap_size, HEAP_LEAST), region->nonce, &heap,
                            &why)) {
        hccl_region_announce_heap(&heap);
    } else {
        hccl_log_info("no heap for MPI_Alloc_mem: %s", why);
    }
}

/* Lets the peers of the node see this process's memory, where the host can do that. */
static void open_memory(const hccl_region_card_t *region)
{
    const char *why;
    hccl_xpmem_card_t xpmem;
    if (!hccl_params.xpmem) {
        return;
    }
    if (HCCL_OK == hccl_xpmem_offer(region->nonce, &xpmem, &why)) {
        hccl_region_announce_xpmem(&xpmem);
    } else {
        hccl_log_info("XPMEM is not used: %s", why);
    }
}

static void describe_place(hccl_card_t *card)
{
    char why[400] = "";
    hccl_port_choice_t choice;
    hccl_params_ports(&choice);
    (void) opal_hwloc_base_get_topology();
    if (HCCL_OK != hccl_detect_card(opal_hwloc_topology, &choice, card, why, sizeof(why))) {
        hccl_card_init(card);
    }
    if ('\0' != why[0] && 0 == ompi_process_info.my_local_rank) {
        hccl_log_warn("%s", why);
    }
}

/* Describes this process and creates its region. What cannot be found out or had is left out of
 * the card: communicators then do without it, on all ranks alike. */
static int describe_self(hccl_peer_t *mine)
{
    const char *why = "injected for a test";
    memset(mine, 0, sizeof(*mine));
    describe_place(&mine->card);
    mine->settings = hccl_engine.settings_hash;
    int rc = HCCL_ERR_NOTSUP;
    if (hccl_params.shared_memory && !injected("region")) {
        rc = hccl_region_create(fit("a region", hccl_params.region_size, REGION_LEAST),
                                &mine->region, &why);
    }
    if (HCCL_OK != rc && hccl_params.shared_memory) {
        hccl_log_info("no shared-memory region: %s", why);
    }
    if (HCCL_OK == rc) {
        make_heap(&mine->region);
        open_memory(&mine->region);
        hccl_tuning_find(&mine->tuning);
    }
    int index = ompi_process_info.my_local_rank;
    rc = override_place(&mine->card, &index);
    hccl_ports_choose(&mine->card, index);
    hccl_rdma_try(mine, index);
    return rc;
}

/* Open MPI's structures change from version to version, and it loads what fits its table of
 * functions: the component must not run in another one than it was built for. */
static int check_version(void)
{
    char running[MPI_MAX_LIBRARY_VERSION_STRING];
    char built[32];
    int len;
    snprintf(built, sizeof(built), "Open MPI v%d.%d.", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
    if (MPI_SUCCESS == MPI_Get_library_version(running, &len)
        && 0 == strncmp(running, built, strlen(built))) {
        return OMPI_SUCCESS;
    }
    if (0 == OMPI_PROC_MY_NAME->vpid) {
        running[strcspn(running, ",")] = '\0';
        hccl_log_error("this component was built for %sx and does not run in %s: build it for that "
                       "version, or take its directory out of mca_base_component_path",
                       built, running);
    }
    return OMPI_ERR_NOT_AVAILABLE;
}

static int set_up(void)
{
    hccl_peer_t mine;
    int rc = check_version();
    if (OMPI_SUCCESS == rc) {
        rc = hccl_params_check();
    }
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    set_engine();
    hccl_copy_choose();
    rc = describe_self(&mine);
    if (OMPI_SUCCESS == rc) {
        rc = hccl_procs_publish(&mine);
    }
    return OMPI_SUCCESS == rc ? hccl_drive_init() : rc;
}

/* Succeeds always; what does not work serves no communicator (coll_hccl_module.c). For when the only
 * component asked for fails to open, Open MPI 4.1 prints a help text with arguments missing, which
 * may crash it; a communicator that nobody serves ends MPI_Init cleanly. */
static int open_component(void)
{
    hccl_log_init((hccl_log_level_t) hccl_params.verbose, (int) OMPI_PROC_MY_NAME->vpid);
    hccl_component_works = OMPI_SUCCESS == set_up();
    return OMPI_SUCCESS;
}

static int close_component(void)
{
    if (hccl_component_works) {
        hccl_drive_fini();
        hccl_component_works = false;
    }
    hccl_rdma_end();
    hccl_procs_forget();
    hccl_params_forget();
    hccl_mpool_leave();
    hccl_region_destroy();
    hccl_heap_destroy();
    hccl_xpmem_withdraw();
    hccl_pool_drain();
    return OMPI_SUCCESS;
}

static int init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void) enable_progress_threads;
    (void) enable_mpi_threads;
    set_tags();
    return OMPI_SUCCESS;
}
