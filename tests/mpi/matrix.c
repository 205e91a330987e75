/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Systematic test of all collectives: colls.def times the axes of matrix.def, each compared with the
 * point-to-point reference. One line per collective. `matrix -c COLLECTIVE -o CASE` repeats one case.
 */
#include "inst.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ANY (-1)
#define ANY_UNIT 60
#define COUNT_OF(a) ((int) (sizeof(a) / sizeof((a)[0])))
#define ROUNDS 2 /* starts of a persistent operation */

struct axis_layout {
    enum kind_id kind;
    int s, r;
};
struct axis_op {
    enum op_id op;
    enum kind_id kind;
    int shape;
};

#define MATRIX_LAYOUT(kind, s, r) {K_##kind, s, r},
static const struct axis_layout layouts[] = {
#include "matrix.def"
};
#undef MATRIX_LAYOUT
#define MATRIX_OP(op, kind, shape) {OP_##op, K_##kind, shape},
static const struct axis_op ops[] = {
#include "matrix.def"
};
#undef MATRIX_OP
#define MATRIX_SIZE(n) n,
static const size_t sizes[] = {
#include "matrix.def"
};
#undef MATRIX_SIZE
#define MATRIX_COMM(name) #name,
static const char *const comm_names[] = {
#include "matrix.def"
};
#undef MATRIX_COMM

static const char *const mode_names[] = {"blocking", "nonblocking", "persistent"};

static struct {
    const char *coll, *label, *avoid_text;
    long only;
    bool quick, verbose;
    size_t maxbytes;
    unsigned watchdog;
} opt = {.only = -1, .maxbytes = 1u << 20, .watchdog = 60, .label = ""};

static int rank, size;
static long cases; /* of the present collective */

static int common_multiple(int a, int b)
{
    int m = a;

    while (0 != m % b) {
        m += a;
    }
    return m;
}

static int shape_unit(enum kind_id kind, int shape)
{
    return ANY == shape ? ANY_UNIT : layout_get(kind, (enum shape) shape)->m;
}

/* ---- one case ---- */

static void finish(struct inst *t)
{
    must(MPI_Wait(&t->req, MPI_STATUS_IGNORE), "wait");
}

static void run_persistent(struct inst *t, const char *what)
{
    must(inst_issue(t, MODE_PERSISTENT), what);
    for (int round = 0; round < ROUNDS; round++) {
        inst_fill(t, round);
        must(MPI_Start(&t->req), "start");
        finish(t);
        t->call[1].left = now_seconds();
        inst_reference(t);
        inst_compare(t);
    }
    must(MPI_Request_free(&t->req), "request_free");
}

static void run_case(const struct spec *sp, enum mode mode)
{
    char what[300];
    struct inst t;

    cases++;
    if (0 <= opt.only && opt.only != cases) {
        return;
    }
    inst_describe(sp, what, sizeof(what));
    harness_context("matrix -c %s -o %ld%s%s%s (np %d%s%s): %s %s", colls[sp->coll].name, cases,
                    opt.quick ? " -q" : "", NULL != opt.avoid_text ? " -x " : "",
                    NULL != opt.avoid_text ? opt.avoid_text : "", size,
                    '\0' != *opt.label ? ", " : "", opt.label, mode_names[mode], what);
    if (!inst_build(&t, sp)) {
        return;
    }
    if (opt.verbose) {
        printf("# %s\n", harness_get_context());
        inst_dump(&t);
    }
    if (MODE_PERSISTENT == mode) {
        run_persistent(&t, what);
    } else {
        inst_fill(&t, 0);
        must(inst_issue(&t, mode), what);
        if (MODE_NONBLOCKING == mode) {
            finish(&t);
        }
        t.call[1].left = now_seconds();
        inst_reference(&t);
        inst_compare(&t);
    }
    inst_free(&t);
}

/* ---- the axes ---- */

/* Both modes of completion and places of one combination of data and communicator. */
static void run_modes(struct spec *sp)
{
    bool can = INP_NO != colls[sp->coll].inplace && 0 == sp->tc->rsize;

    for (int inplace = 0; inplace <= (can ? 1 : 0); inplace++) {
        for (int mode = MODE_BLOCKING; mode <= MODE_PERSISTENT; mode++) {
            sp->inplace = 1 == inplace;
            sp->seed = mix64((uint64_t) cases);
            /* Roots and the freedoms of the arguments walk along. */
            sp->root = (unsigned) cases * 7u / 3u;
            sp->sloppy = 0 != (cases & 1);
            sp->bottom = 0 == cases % 5;
            run_case(sp, (enum mode) mode);
        }
    }
}

static bool too_large(const struct spec *sp)
{
    size_t block = sp->units * (size_t) sp->unit * kinds[sp->kind].extent;

    return block * (size_t) size > opt.maxbytes;
}

static int data_count(enum coll_id coll)
{
    return coll_is_reduction(coll) ? COUNT_OF(ops) : C_barrier == coll ? 1 : COUNT_OF(layouts);
}

static void set_data(struct spec *sp, int data)
{
    if (coll_is_reduction(sp->coll)) {
        sp->op = ops[data].op;
        sp->kind = ops[data].kind;
        sp->shape_s = sp->shape_r = ops[data].shape;
        sp->unit = shape_unit(sp->kind, ops[data].shape);
        return;
    }
    sp->kind = layouts[data].kind;
    sp->shape_s = layouts[data].s;
    sp->shape_r = layouts[data].r;
    sp->unit =
        common_multiple(shape_unit(sp->kind, sp->shape_s), shape_unit(sp->kind, sp->shape_r));
}

/* On the first communicator every layout (or operation) meets every size, on the others they walk along. */
static void run_comm(enum coll_id coll, const struct tcomm *tc, bool all, int shift)
{
    struct spec sp = {.coll = coll, .tc = tc};
    int ndata = data_count(coll);

    for (int s = 0; s < COUNT_OF(sizes); s += opt.quick ? 2 : 1) {
        for (int d = 0; d < (all ? ndata : 1); d++) {
            set_data(&sp, all ? d : (s + shift) % ndata);
            sp.units = sizes[s];
            if (!too_large(&sp)) {
                run_modes(&sp);
            }
            if (C_barrier == coll) {
                return;
            }
        }
    }
}

static void run_coll(enum coll_id coll)
{
    if (coll_is_neighbor(coll)) {
        for (int i = 0; i < comms_count(); i++) {
            if (comms_fits(i, NEED_TOPO)) {
                run_comm(coll, comms_get(i), false, i);
                run_comm(coll, comms_get(i), false, i + 5);
            }
        }
        return;
    }
    for (int c = 0; c < COUNT_OF(comm_names); c++) {
        int i = comms_find(comm_names[c]);

        if (0 <= i && comms_fits(i, colls[coll].inter ? NEED_ANY : NEED_INTRA)) {
            run_comm(coll, comms_get(i), 0 == c, c);
        }
    }
}

/* MPI_Reduce_local, which every component must bring along: all operations on all types they accept. */
static void run_reduce_local(void)
{
    struct tcomm *self = comms_get(comms_find("self"));

    for (int op = 0; op < OP_COUNT; op++) {
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            for (int shape = 0; shape < SH_ZERO; shape++) {
                const struct layout *l = layout_get((enum kind_id) kind, (enum shape) shape);
                struct spec sp = {.coll = C_allreduce,
                                  .tc = self,
                                  .kind = (enum kind_id) kind,
                                  .shape_s = shape,
                                  .shape_r = shape,
                                  .unit = l->m,
                                  .units = 1 + mix64((uint64_t) cases) % 60,
                                  .op = (enum op_id) op};
                struct inst t;

                if (!op_accepts(sp.op, sp.kind)
                    || (op_is_user(sp.op) ? 0 != l->m % op_unit(sp.op) : SH_PLAIN != shape)) {
                    continue;
                }
                cases++;
                sp.seed = mix64((uint64_t) cases);
                harness_context("matrix -c reduce_local: %s %s %s x %zu", op_name(sp.op),
                                kinds[kind].name, l->name, sp.units);
                inst_build(&t, &sp);
                inst_fill(&t, 0);
                layout_values(l, t.r.org[0], sp.units, sp.op, sp.seed);
                memcpy(t.r.mem[1], t.r.mem[0], t.r.len);
                must(MPI_Reduce_local(t.s.org[0], t.r.org[0], (int) sp.units, l->type,
                                      op_handle(sp.op)),
                     "reduce_local");
                op_apply(sp.op, l, t.s.org[1], t.r.org[1], (int) sp.units);
                inst_compare(&t);
                inst_free(&t);
            }
        }
    }
}

static bool report(const char *name, long failed_before, double begin)
{
    long worst;

    harness_context("matrix -c %s: end", name);
    worst = agree_max(failures() - failed_before);
    if (0 == rank) {
        const char *dot = '\0' != *opt.label ? "." : "";

        if (0 == worst) {
            printf("ok matrix%s%s.np%d.%s\n", dot, opt.label, size, name);
        } else {
            printf("not ok matrix%s%s.np%d.%s: see the lines with FAILURE\n", dot, opt.label, size,
                   name);
        }
        printf("# %s: %ld cases, %.1f s\n", name, cases, now_seconds() - begin);
        fflush(stdout);
    }
    return 0 == worst;
}

/* ---- options ---- */

static void usage(const char *wrong)
{
    if (0 == rank) {
        fprintf(stderr,
                "matrix: %s\n"
                "usage: matrix [-c COLLECTIVE [-o CASE]] [-x LEAVEOUT,...] [-B MAXBYTES] [-t "
                "WATCHDOG_SECONDS]\n"
                "              [-L LABEL] [-q] [-v]\n"
                "  -q  every second size only; -x as in fuzz\n",
                wrong);
    }
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static unsigned long number(const char *text)
{
    char *end;
    unsigned long v = strtoul(text, &end, 0);

    if (end == text || '\0' != *end) {
        usage("an option needs a number");
    }
    return v;
}

static void parse(int argc, char **argv)
{
    char *copy, *save = NULL;
    int o;

    while (-1 != (o = getopt(argc, argv, "c:o:x:B:t:L:qv"))) {
        switch (o) {
        case 'c':
            opt.coll = optarg;
            break;
        case 'o':
            opt.only = (long) number(optarg);
            break;
        case 'x':
            opt.avoid_text = optarg;
            copy = strdup(optarg);
            for (char *w = strtok_r(copy, ",", &save); NULL != w; w = strtok_r(NULL, ",", &save)) {
                if (!avoid_set(w)) {
                    usage("unknown name in -x");
                }
            }
            free(copy);
            break;
        case 'B':
            opt.maxbytes = number(optarg);
            break;
        case 't':
            opt.watchdog = (unsigned) number(optarg);
            break;
        case 'L':
            opt.label = optarg;
            break;
        case 'q':
            opt.quick = true;
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

int main(int argc, char **argv)
{
    bool good = true, found = false;
    double begin;
    long before;

    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    parse(argc, argv);
    harness_init(opt.watchdog);
    harness_context("matrix (np %d): creating communicators and types", size);
    types_init();
    comms_init(1);
    for (int c = 0; c <= COLL_COUNT; c++) {
        const char *name = COLL_COUNT == c ? "reduce_local" : colls[c].name;

        if (NULL != opt.coll && 0 != strcmp(opt.coll, name)) {
            continue;
        }
        found = true;
        begin = now_seconds();
        before = failures();
        cases = 0;
        if (COLL_COUNT == c && 0 == rank) {
            run_reduce_local();
        } else if (COLL_COUNT != c) {
            run_coll((enum coll_id) c);
        }
        good = report(name, before, begin) && good;
    }
    if (!found) {
        usage("no such collective");
    }
    comms_free();
    types_free();
    MPI_Finalize();
    return good ? 0 : 1;
}
