/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random differential test of all collectives: every case draws collective, layouts, operation, size, root,
 * communicator and mode from (seed, case number) alike on all ranks, runs it, and compares every byte of
 * every buffer with the point-to-point reference. `fuzz -s SEED -o CASE` repeats one case.
 */
#include "inst.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_OPS 8
/* Elements beyond this size only without gaps: Open MPI's messages, of which the reference consists,
 * overflow a buffer of 16 bytes when they cut one in two. */
#define LARGEST_SPLIT 16
/* Cases between two agreements on whether somebody failed. */
#define AGREE_EVERY 64

enum flavour { FL_BLOCKING, FL_NONBLOCKING, FL_MULTI, FL_PERSISTENT, FL_COUNT };

static const char *const flavour_names[] = {"blocking", "nonblocking", "multi", "persistent"};

static struct options {
    unsigned long long seed;
    long cases, first, keep_going;
    bool flavour[FL_COUNT];
    bool coll[COLL_COUNT];
    size_t maxbytes;
    unsigned watchdog;
    bool verbose;
    const char *label;
    /* as given, for the line that repeats a case */
    const char *flavour_text, *coll_text, *avoid_text;
    const char *only_comm;
} opt = {
    .seed = 1, .cases = 1000, .keep_going = 1, .maxbytes = 4u << 20, .watchdog = 60, .label = ""};

/* One case: operations that are in flight together. */
struct test_case {
    long number;
    enum flavour flavour;
    int nops, nrounds;
    struct spec spec[MAX_OPS];
    bool blocking[MAX_OPS]; /* within FL_MULTI */
    bool mixed_order;       /* ranks may interleave communicators differently */
    bool early_reference;   /* run the reference while the operations are pending */
    bool drop_types;
    struct tcomm *fresh;
    struct rng shared; /* same numbers on all ranks */
    struct rng local;  /* this rank's own */
    struct inst inst[MAX_OPS];
    bool part[MAX_OPS]; /* this rank takes part in the operation */
};

/* ---- drawing ---- */

static enum coll_id draw_coll(struct rng *r)
{
    int c;

    do {
        c = (int) rng_below(r, COLL_COUNT);
    } while (!opt.coll[c]);
    return (enum coll_id) c;
}

static const struct tcomm *draw_comm(struct rng *r, enum coll_id coll)
{
    enum need need = coll_is_neighbor(coll) ? NEED_TOPO : colls[coll].inter ? NEED_ANY : NEED_INTRA;
    int i;

    if (NULL != opt.only_comm && 0 <= comms_find(opt.only_comm)) {
        i = comms_find(opt.only_comm);
        if (comms_fits(i, need)) {
            return comms_get(i);
        }
    }
    if (NEED_TOPO != need && rng_chance(r, 30)) {
        return comms_get(0);
    }
    do {
        i = (int) rng_below(r, (uint64_t) comms_count());
    } while (!comms_fits(i, need));
    return comms_get(i);
}

static size_t draw_bytes(struct rng *r)
{
    unsigned p = (unsigned) rng_below(r, 1000);

    if (p < 80) {
        return 0;
    }
    if (p < 500) {
        return 1 + rng_below(r, 100);
    }
    if (p < 860) {
        return ((size_t) 1 << (3 + rng_below(r, 10))) + rng_below(r, 33) - 8;
    }
    if (p < 970) {
        return 1 + rng_below(r, 16 << 10);
    }
    if (p < 996) {
        return ((size_t) 1 << (13 + rng_below(r, 6))) + rng_below(r, 65) - 32;
    }
    return rng_below(r, 3u << 20);
}

static void draw_reduction(struct rng *r, struct spec *sp)
{
    int s;

    do {
        sp->op = (enum op_id) rng_below(r, OP_COUNT);
        sp->kind = rng_chance(r, 50) && op_is_user(sp->op)
                       ? K_int
                       : (enum kind_id) rng_below(r, KIND_COUNT);
    } while (!op_accepts(sp->op, sp->kind));
    if (!op_is_user(sp->op)) {
        sp->shape_s = sp->shape_r = SH_PLAIN;
        sp->unit = 1;
        return;
    }
    do {
        s = (int) rng_below(r, SH_ZERO);
    } while (0 != layout_get(sp->kind, (enum shape) s)->m % op_unit(sp->op));
    sp->shape_s = sp->shape_r = s;
    sp->unit = layout_get(sp->kind, (enum shape) s)->m;
}

/* is_long: of a length that is cut into segments. */
static void draw_spec(struct rng *r, struct spec *sp, size_t limit, bool is_long)
{
    static const int unit_draw[] = {1, 1, 2, 3, 4, 4, 12, 24, 60, 120};
    size_t bytes, peers;

    *sp = (struct spec){.coll = draw_coll(r), .shape_s = -1, .shape_r = -1};
    sp->tc = draw_comm(r, sp->coll);
    if (coll_is_reduction(sp->coll)) {
        draw_reduction(r, sp);
    } else {
        sp->kind = (enum kind_id) rng_below(r, KIND_COUNT);
        sp->unit = unit_draw[rng_below(r, sizeof(unit_draw) / sizeof(unit_draw[0]))];
        if (rng_chance(r, 20) || LARGEST_SPLIT < kinds[sp->kind].extent) {
            sp->unit = 1;
            sp->shape_s = sp->shape_r = SH_PLAIN;
        }
    }
    bytes = is_long ? (16u << 10) + rng_below(r, 512u << 10) : draw_bytes(r);
    /* Blocks may be twice as large as typical, and there is one per rank of the world at most. */
    peers = (size_t) comms_get(0)->size * (PAT_REDSCAT == colls[sp->coll].pattern ? 4 : 2);
    bytes = bytes * peers > limit ? limit / peers : bytes;
    sp->units = (bytes + kinds[sp->kind].extent * (size_t) sp->unit - 1)
                / (kinds[sp->kind].extent * (size_t) sp->unit);
    if (coll_is_reduction(sp->coll) && (SH_WEAVE2 == sp->shape_s || SH_WEAVE4 == sp->shape_s)
        && 4 < sp->units) {
        sp->units = 4; /* interleaving items must stay few, and both buffers share the type */
    }
    sp->inplace = rng_chance(r, 35);
    sp->bottom = rng_chance(r, 15);
    sp->sloppy = rng_chance(r, 50);
    sp->root = (unsigned) rng_below(r, 1u << 16);
    sp->seed = rng_next(r);
}

/* Makes a call that differs from an earlier one in one thing. */
static void draw_relative(struct rng *r, struct spec *sp, const struct spec *of)
{
    enum op_id op = (enum op_id) rng_below(r, OP_COUNT);

    *sp = *of;
    switch (rng_below(r, 4)) {
    case 0:
        if (coll_is_reduction(of->coll) && !op_is_user(of->op) && !op_is_user(op)
            && op_accepts(op, of->kind)) {
            sp->op = op;
        }
        break;
    case 1:
        sp->root++;
        break;
    case 2:
        sp->inplace = !of->inplace;
        break;
    default:
        sp->units += 0 < of->units ? 1 : 0;
        break;
    }
}

static void draw_case(struct test_case *tc, long number)
{
    struct rng *r = &tc->shared;
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(tc, 0, sizeof(*tc));
    tc->number = number;
    r->s = hash4(opt.seed, 1, (uint64_t) number, 0);
    tc->local.s = hash4(opt.seed, 2, (uint64_t) number, (uint64_t) rank);
    do {
        tc->flavour = (enum flavour) rng_below(r, FL_COUNT);
    } while (!opt.flavour[tc->flavour]);
    tc->nops = FL_MULTI == tc->flavour        ? 2 + (int) rng_below(r, MAX_OPS - 1)
               : FL_PERSISTENT == tc->flavour ? 1 + (int) rng_below(r, 3)
                                              : 1;
    tc->nrounds = FL_PERSISTENT == tc->flavour ? 1 + (int) rng_below(r, 5) : 1;
    tc->mixed_order = rng_chance(r, 50);
    if (FL_BLOCKING == tc->flavour && rng_chance(r, 30)) {
        /* Like calls with other buffers, one to three of them in turn. */
        tc->nops = 1 + (int) rng_below(r, 3);
        tc->nrounds = 2 + (int) rng_below(r, 5);
        tc->mixed_order = false;
    }
    tc->early_reference = rng_chance(r, 30);
    tc->drop_types = rng_chance(r, 25) && !avoid.droptypes;
    for (int i = 0; i < tc->nops; i++) {
        bool repeats = 1 < tc->nrounds && FL_BLOCKING == tc->flavour;
        draw_spec(r, &tc->spec[i], opt.maxbytes / (size_t) (tc->nops * tc->nrounds),
                  repeats && rng_chance(r, 10));
        if (repeats && rng_chance(r, 60) && !coll_is_reduction(tc->spec[i].coll)) {
            tc->spec[i].shape_s = tc->spec[i].shape_r = SH_PLAIN;
        }
        if (0 < i && FL_BLOCKING == tc->flavour && rng_chance(r, 70)) {
            draw_relative(r, &tc->spec[i], &tc->spec[i - 1]);
        }
        tc->blocking[i] = FL_MULTI == tc->flavour && !tc->mixed_order && rng_chance(r, 15);
    }
    /* Several operations on one communicator are the harder case. */
    for (int i = 1; i < tc->nops; i++) {
        if (rng_chance(r, 60) && !coll_is_neighbor(tc->spec[i].coll) && 0 == tc->spec[0].tc->rsize
            && comms_fits((int) (tc->spec[0].tc - comms_get(0)), NEED_INTRA)) {
            tc->spec[i].tc = tc->spec[0].tc;
        }
    }
}

/* ---- running ---- */

static void local_delay(struct test_case *tc)
{
    bool barrier = C_barrier == tc->spec[0].coll;

    if (rng_chance(&tc->local, barrier ? 20 : 2)) {
        usleep((useconds_t) rng_below(&tc->local, 800));
    }
}

static void left(struct test_case *tc, int i)
{
    tc->inst[i].call[1].left = now_seconds();
}

static void shuffle(struct rng *r, int *a, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int) rng_below(r, (uint64_t) i + 1), keep = a[i];

        a[i] = a[j];
        a[j] = keep;
    }
}

/* Completes the requests of the listed operations in one of many ways, chosen by this rank alone. */
static void complete(struct test_case *tc, const int *ops, int n)
{
    MPI_Request req[MAX_OPS];
    int order[MAX_OPS], done[MAX_OPS], flag, index, ndone, pending = n;

    for (int i = 0; i < n; i++) {
        req[i] = tc->inst[ops[i]].req;
        order[i] = i;
    }
    shuffle(&tc->local, order, n);
    switch (rng_below(&tc->local, 6)) {
    case 0:
        for (int i = 0; i < n; i++) {
            must(MPI_Wait(&req[order[i]], MPI_STATUS_IGNORE), "wait");
            left(tc, ops[order[i]]);
        }
        break;
    case 1:
        while (0 < pending) {
            for (int i = 0; i < n; i++) {
                if (0 <= order[i]) {
                    must(MPI_Test(&req[order[i]], &flag, MPI_STATUS_IGNORE), "test");
                    if (flag) {
                        left(tc, ops[order[i]]);
                        order[i] = -1;
                        pending--;
                    }
                }
            }
        }
        break;
    case 2:
        for (int i = 0; i < n; i++) {
            must(MPI_Waitany(n, req, &index, MPI_STATUS_IGNORE), "waitany");
            if (0 > index || index >= n) {
                fail("waitany returned index %d with %d requests active", index, n - i);
                break;
            }
            left(tc, ops[index]);
        }
        break;
    case 3:
        must(MPI_Waitall(n, req, MPI_STATUSES_IGNORE), "waitall");
        break;
    case 4:
        while (0 < pending) {
            must(MPI_Waitsome(n, req, &ndone, done, MPI_STATUSES_IGNORE), "waitsome");
            if (0 >= ndone) {
                fail("waitsome returned %d with %d requests active", ndone, pending);
                break;
            }
            for (int i = 0; i < ndone; i++) {
                left(tc, ops[done[i]]);
            }
            pending -= ndone;
        }
        break;
    default:
        do {
            must(MPI_Testall(n, req, &flag, MPI_STATUSES_IGNORE), "testall");
        } while (!flag);
        break;
    }
    for (int i = 0; i < n; i++) {
        struct inst *t = &tc->inst[ops[i]];

        if (0 == t->call[1].left) {
            left(tc, ops[i]);
        }
        if (FL_PERSISTENT == tc->flavour && MPI_REQUEST_NULL == req[i]) {
            fail("persistent request became null when it completed");
        }
        if (FL_PERSISTENT != tc->flavour && MPI_REQUEST_NULL != req[i]) {
            fail("request is not null after completion");
        }
        t->req = req[i];
    }
}

static void check_all(struct test_case *tc)
{
    for (int i = 0; i < tc->nops; i++) {
        char text[300];

        if (tc->part[i]) {
            if (!tc->early_reference || C_barrier == tc->spec[i].coll) {
                inst_reference(&tc->inst[i]);
            }
            if (1 < tc->nops) {
                long before = failures();

                inst_compare(&tc->inst[i]);
                if (failures() != before) {
                    inst_describe(&tc->spec[i], text, sizeof(text));
                    printf("#   that was operation %d of %d: %s\n", i, tc->nops, text);
                    fflush(stdout);
                }
            } else {
                inst_compare(&tc->inst[i]);
            }
        }
    }
}

static void early_references(struct test_case *tc)
{
    for (int i = 0; tc->early_reference && i < tc->nops; i++) {
        if (tc->part[i] && C_barrier != tc->spec[i].coll) {
            inst_reference(&tc->inst[i]);
        }
    }
}

static void issue(struct test_case *tc, int i, enum mode mode)
{
    struct inst *t = &tc->inst[i];
    char text[300];
    int rc;

    t->call[1].left = 0;
    rc = inst_issue(t, mode);
    if (MPI_SUCCESS != rc) {
        inst_describe(&tc->spec[i], text, sizeof(text));
        must(rc, text);
    }
    if (MODE_BLOCKING == mode) {
        left(tc, i);
    }
    if (tc->drop_types) {
        inst_drop_types(t);
    }
}

/* An order of starting that keeps the order on each communicator. */
static void issue_order(struct test_case *tc, int *order)
{
    bool used[MAX_OPS] = {false};

    for (int n = 0; n < tc->nops; n++) {
        int pick = 0, tries = 0;
        bool first;

        do {
            pick = tc->mixed_order && tries++ < 8 ? (int) rng_below(&tc->local, (uint64_t) tc->nops)
                                                  : 0;
            while (used[pick]) {
                pick = (pick + 1) % tc->nops;
            }
            first = true;
            for (int i = 0; i < pick; i++) {
                first = first && (used[i] || tc->spec[i].tc != tc->spec[pick].tc);
            }
        } while (!first);
        used[pick] = true;
        order[n] = pick;
    }
}

/* Other memory with other contents for the same calls. */
static void renew(struct test_case *tc, int round)
{
    void *pad = malloc(1 + (size_t) rng_below(&tc->local, 1 << 12));

    for (int i = 0; i < tc->nops; i++) {
        inst_free(&tc->inst[i]);
        tc->part[i] = inst_build(&tc->inst[i], &tc->spec[i]);
        if (tc->part[i]) {
            inst_fill(&tc->inst[i], round);
        }
    }
    free(pad);
}

static void run_started(struct test_case *tc)
{
    int order[MAX_OPS], pending[MAX_OPS], n = 0;

    issue_order(tc, order);
    for (int i = 0; i < tc->nops; i++) {
        int k = order[i];

        if (!tc->part[k]) {
            continue;
        }
        if (FL_BLOCKING == tc->flavour || tc->blocking[k]) {
            issue(tc, k, MODE_BLOCKING);
        } else {
            issue(tc, k, MODE_NONBLOCKING);
            pending[n++] = k;
        }
    }
    early_references(tc);
    complete(tc, pending, n);
    check_all(tc);
}

static void start_round(struct test_case *tc, int *ops, int n)
{
    MPI_Request req[MAX_OPS];
    int k = (int) rng_below(&tc->local, (uint64_t) n + 1);

    /* Persistent operations may be started in any order, other on every rank. */
    shuffle(&tc->local, ops, n);
    for (int i = 0; i < k; i++) {
        req[i] = tc->inst[ops[i]].req;
    }
    if (0 < k) {
        must(MPI_Startall(k, req), "startall");
    }
    for (int i = 0; i < n; i++) {
        if (i < k) {
            tc->inst[ops[i]].req = req[i];
        } else {
            must(MPI_Start(&tc->inst[ops[i]].req), "start");
        }
    }
}

static void run_persistent(struct test_case *tc)
{
    int ops[MAX_OPS], n;

    tc->drop_types = tc->drop_types && 1 == tc->nrounds;
    for (int i = 0; i < tc->nops; i++) {
        if (tc->part[i]) {
            issue(tc, i, MODE_PERSISTENT);
        }
    }
    for (int round = 0; round < tc->nrounds; round++) {
        n = 0;
        for (int i = 0; i < tc->nops; i++) {
            if (tc->part[i]) {
                inst_fill(&tc->inst[i], round);
                tc->inst[i].call[1].left = 0;
                ops[n++] = i;
            }
        }
        if (0 < n) {
            start_round(tc, ops, n);
        }
        early_references(tc);
        if (0 < n) {
            complete(tc, ops, n);
        }
        check_all(tc);
    }
    for (int i = 0; i < tc->nops; i++) {
        if (tc->part[i]) {
            must(MPI_Request_free(&tc->inst[i].req), "request_free");
        }
    }
}

static void set_context(const struct test_case *tc)
{
    char text[300];
    int at = 0;
    char all[640];

    for (int i = 0; i < tc->nops && at + 310 < (int) sizeof(all); i++) {
        inst_describe(&tc->spec[i], text, sizeof(text));
        at += snprintf(all + at, sizeof(all) - (size_t) at, "%s%s", 0 < i ? " | " : "", text);
    }
    harness_context("fuzz -s %llu -o %ld -B %zu%s%s%s%s%s%s (np %d%s%s): %s x%d rounds=%d: %s",
                    opt.seed, tc->number, opt.maxbytes, NULL != opt.flavour_text ? " -m " : "",
                    NULL != opt.flavour_text ? opt.flavour_text : "",
                    NULL != opt.coll_text ? " -c " : "", NULL != opt.coll_text ? opt.coll_text : "",
                    NULL != opt.avoid_text ? " -x " : "",
                    NULL != opt.avoid_text ? opt.avoid_text : "", comms_get(0)->size,
                    '\0' != *opt.label ? ", " : "", opt.label, flavour_names[tc->flavour], tc->nops,
                    tc->nrounds, all);
}

static void run_case(long number)
{
    struct test_case tc;

    draw_case(&tc, number);
    set_context(&tc);
    if (opt.verbose && 0 == comms_get(0)->rank) {
        printf("# %s\n", harness_get_context());
        fflush(stdout);
    }
    if (1 == tc.nops && !coll_is_neighbor(tc.spec[0].coll) && rng_chance(&tc.shared, 2)) {
        tc.fresh = comms_fresh((int) (tc.spec[0].tc - comms_get(0)));
        tc.spec[0].tc = tc.fresh;
    }
    for (int i = 0; i < tc.nops; i++) {
        tc.part[i] = inst_build(&tc.inst[i], &tc.spec[i]);
        if (tc.part[i]) {
            inst_fill(&tc.inst[i], 0);
            if (opt.verbose) {
                inst_dump(&tc.inst[i]);
            }
        }
    }
    local_delay(&tc);
    if (FL_PERSISTENT == tc.flavour) {
        run_persistent(&tc);
    } else {
        run_started(&tc);
        for (int round = 1; round < tc.nrounds; round++) {
            renew(&tc, round);
            run_started(&tc);
        }
    }
    for (int i = 0; i < tc.nops; i++) {
        inst_free(&tc.inst[i]);
    }
    if (NULL != tc.fresh) {
        comms_fresh_free(tc.fresh);
    }
}

/* ---- options ---- */

static void usage(const char *wrong)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (0 == rank) {
        fprintf(stderr, "fuzz: %s\n", wrong);
        fprintf(
            stderr,
            "usage: fuzz [-s SEED] [-n CASES] [-f FIRST | -o CASE] [-m MODE,...] [-c "
            "[^]COLLECTIVE,...] [-C COMM]\n"
            "            [-x LEAVEOUT,...] [-B MAXBYTES] [-t WATCHDOG_SECONDS] [-k FAILURES] [-L "
            "LABEL] [-v]\n"
            "  -o CASE  only that case            -f FIRST begin there\n"
            "  -c ^a,b  all but these\n"
            "  -C COMM  prefer this communicator  -k N     go on until N failures (0: to the end)\n"
            "  -x leaves out what a library is known to do wrong: zerotypes tinygrid rubbish wide "
            "bottom derived\n"
            "     mixed multiedge inter droptypes\n"
            "  modes: blocking nonblocking multi persistent\n");
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
}

/* Sets chosen[i] for the names listed in text; a leading ^ means all but those. */
static void choose(const char *text, const char *const *names, int n, bool *chosen)
{
    bool but = '^' == *text;
    char *copy = strdup(text + (but ? 1 : 0)), *save = NULL;

    for (int i = 0; i < n; i++) {
        chosen[i] = but;
    }
    for (char *w = strtok_r(copy, ",", &save); NULL != w; w = strtok_r(NULL, ",", &save)) {
        int i = 0;

        while (i < n && 0 != strcmp(names[i], w)) {
            i++;
        }
        if (i == n) {
            usage("unknown name in -m or -c");
        } else {
            chosen[i] = !but;
        }
    }
    free(copy);
}

static void choose_avoid(const char *text)
{
    char *copy = strdup(text), *save = NULL;

    for (char *w = strtok_r(copy, ",", &save); NULL != w; w = strtok_r(NULL, ",", &save)) {
        if (!avoid_set(w)) {
            usage("unknown name in -x");
        }
    }
    free(copy);
}

static unsigned long long number(const char *text)
{
    char *end;
    unsigned long long v = strtoull(text, &end, 0);

    if (end == text || '\0' != *end) {
        usage("an option needs a number");
    }
    return v;
}

static void parse(int argc, char **argv)
{
    const char *coll_names[COLL_COUNT];
    int o;

    for (int i = 0; i < COLL_COUNT; i++) {
        coll_names[i] = colls[i].name;
        opt.coll[i] = true;
    }
    for (int i = 0; i < FL_COUNT; i++) {
        opt.flavour[i] = true;
    }
    opt.first = 0;
    while (-1 != (o = getopt(argc, argv, "s:n:o:f:m:c:C:x:B:t:k:L:v"))) {
        switch (o) {
        case 's':
            opt.seed = number(optarg);
            break;
        case 'n':
            opt.cases = (long) number(optarg);
            break;
        case 'o':
            opt.first = (long) number(optarg);
            opt.cases = 1;
            break;
        case 'f':
            opt.first = (long) number(optarg);
            break;
        case 'm':
            opt.flavour_text = optarg;
            choose(optarg, flavour_names, FL_COUNT, opt.flavour);
            break;
        case 'c':
            opt.coll_text = optarg;
            choose(optarg, coll_names, COLL_COUNT, opt.coll);
            break;
        case 'C':
            opt.only_comm = optarg;
            break;
        case 'x':
            opt.avoid_text = optarg;
            choose_avoid(optarg);
            break;
        case 'B':
            opt.maxbytes = number(optarg);
            break;
        case 't':
            opt.watchdog = (unsigned) number(optarg);
            break;
        case 'k':
            opt.keep_going = (long) number(optarg);
            break;
        case 'L':
            opt.label = optarg;
            break;
        case 'v':
            opt.verbose = true;
            break;
        default:
            usage("unknown option");
        }
    }
    if (optind < argc) {
        usage("unexpected argument");
    }
}

static bool must_stop(long done)
{
    long worst;

    if (0 != done % AGREE_EVERY) {
        return false;
    }
    worst = agree_max(failures());
    return 0 < opt.keep_going && worst >= opt.keep_going;
}

int main(int argc, char **argv)
{
    double begin;
    long done = 0, worst;
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    parse(argc, argv);
    harness_init(opt.watchdog);
    harness_context("fuzz -s %llu -o %ld (np %d): creating communicators and types", opt.seed,
                    opt.first, size);
    types_init();
    comms_init(opt.seed);
    begin = now_seconds();
    while (done < opt.cases) {
        run_case(opt.first + done);
        done++;
        if (must_stop(done)) {
            break;
        }
    }
    harness_context("fuzz -s %llu (np %d): the end", opt.seed, size);
    worst = agree_max(failures());
    if (0 == rank) {
        char name[160];

        snprintf(name, sizeof(name), "fuzz%s%s.np%d.seed%llu", '\0' != *opt.label ? "." : "",
                 opt.label, size, opt.seed);
        if (0 == worst) {
            printf("ok %s\n", name);
        } else {
            printf("not ok %s: differences after %ld cases, see the lines with FAILURE\n", name,
                   done);
        }
        printf("# fuzz: %ld cases, seed %llu, np %d, %.1f s\n", done, opt.seed, size,
               now_seconds() - begin);
        fflush(stdout);
    }
    comms_free();
    types_free();
    MPI_Finalize();
    return 0 == worst ? 0 : 1;
}
