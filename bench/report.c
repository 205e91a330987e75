/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See report.h.
 */
#include "report.h"

double hccl_bench_report_volume(const struct hccl_bench_collective *c, size_t bytes, int ranks)
{
    switch (c->layout) {
    case HCCL_BENCH_GATHER:
    case HCCL_BENCH_ALLGATHER:
    case HCCL_BENCH_SCATTER:
    case HCCL_BENCH_ALLTOALL:
        return (double) bytes * ranks;
    case HCCL_BENCH_NEIGHBOR_ALLGATHER:
    case HCCL_BENCH_NEIGHBOR_ALLTOALL:
        return (double) bytes * (3 <= ranks ? 2 : 1);
    default:
        return (double) bytes;
    }
}

double hccl_bench_report_bus_share(const struct hccl_bench_collective *c, int ranks)
{
    double others = (double) (ranks - 1) / ranks;

    switch (c->layout) {
    case HCCL_BENCH_ALLREDUCE:
        return 2 * others;
    case HCCL_BENCH_GATHER:
    case HCCL_BENCH_ALLGATHER:
    case HCCL_BENCH_SCATTER:
    case HCCL_BENCH_ALLTOALL:
    case HCCL_BENCH_REDUCE_SCATTER:
        return others;
    default:
        return 1;
    }
}

void hccl_bench_report_head(const struct hccl_bench_options *o,
                            const struct hccl_bench_collective *c, enum hccl_bench_mode mode,
                            int ranks)
{
    printf("# %s, %s, %d rank%s, %s", c->name, hccl_bench_mode_names[mode], ranks,
           1 == ranks ? "" : "s", o->type->name);
    if (hccl_bench_reduces(c->layout)) {
        printf(" %s", o->op->name);
    }
    if (hccl_bench_has_root(c->layout) && o->root < 0) {
        printf(", root rotating");
    } else if (hccl_bench_has_root(c->layout)) {
        printf(", root %d", o->root);
    }
    printf("%s; bytes: %s; times in us, slowest rank\n", o->in_place ? ", in place" : "",
           c->size_meaning);
    printf("#%10s %10s %9s %9s %9s %9s %9s %9s %7s %5s %8s", "bytes", "count", "min", "p5",
           "median", "max", "algGB/s", "busGB/s", "n", "batch", "check");
    printf(NULL == o->net ? "\n" : " %12s %12s\n", "host out", "host in");
}

static void print_speed(const struct hccl_bench_result *r, int ranks)
{
    const struct hccl_bench_collective *c = r->request.collective;
    double gb = hccl_bench_report_volume(c, r->bytes, ranks) / (r->time.median * 1e3);

    if (0 == r->bytes || !(0 < r->time.median)) {
        printf(" %9s %9s", "-", "-");
    } else {
        printf(" %9.3f %9.3f", gb, gb * hccl_bench_report_bus_share(c, ranks));
    }
}

void hccl_bench_report_row(const struct hccl_bench_options *o, const struct hccl_bench_result *r,
                           int ranks)
{
    printf("%11zu %10zu %9.2f %9.2f %9.2f %9.2f", r->bytes, r->count, r->time.min, r->time.p5,
           r->time.median, r->time.max);
    print_speed(r, ranks);
    printf(" %7ld %5ld", r->iterations, r->batch);
    if (!o->check) {
        printf(" %8s", "-");
    } else if (0 < r->wrong) {
        printf(" %.0f WRONG", r->wrong);
    } else {
        printf(" %8s", "ok");
    }
    if (NULL != o->net) {
        printf(" %12.0f %12.0f", r->net_out, r->net_in);
    }
    printf("\n");
    fflush(stdout);
}

void hccl_bench_report_csv_head(FILE *csv)
{
    fprintf(csv, "collective,mode,ranks,type,op,root,in_place,bytes,count,iterations,batch,min_us,"
                 "p5_us,median_us,max_us,alg_GBps,bus_GBps,flag_before_ns,flag_after_ns,wrong,"
                 "host_out_bytes,host_in_bytes\n");
}

void hccl_bench_report_csv_row(FILE *csv, const struct hccl_bench_result *r, int ranks)
{
    const struct hccl_bench_request *q = &r->request;
    double gb = 0 < r->time.median ? hccl_bench_report_volume(q->collective, r->bytes, ranks)
                                         / (r->time.median * 1e3)
                                   : 0;

    fprintf(csv,
            "%s,%s,%d,%s,%s,%d,%d,%zu,%zu,%ld,%ld,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.1f,%.1f,%.0f,%."
            "0f,%.0f\n",
            q->collective->name, hccl_bench_mode_names[q->mode], ranks, q->type->name, q->op->name,
            q->root, q->in_place, r->bytes, r->count, r->iterations, r->batch, r->time.min,
            r->time.p5, r->time.median, r->time.max, gb,
            gb * hccl_bench_report_bus_share(q->collective, ranks), r->flag_before, r->flag_after,
            r->wrong, r->net_out, r->net_in);
    fflush(csv);
}
