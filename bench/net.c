/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See net.h.
 */
#include "net.h"

#include <stdio.h>

enum { HEADERS = 66 };

static bool read_counter(const char *interface, const char *name, double *value)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", interface, name);
    file = fopen(path, "r");
    if (NULL == file) {
        return false;
    }
    bool fine = 1 == fscanf(file, "%lf", value);
    fclose(file);
    return fine;
}

bool hccl_bench_net_read(const char *interface, double *out, double *in)
{
    double packets_out, packets_in;

    if (!read_counter(interface, "tx_bytes", out)
        || !read_counter(interface, "tx_packets", &packets_out)
        || !read_counter(interface, "rx_bytes", in)
        || !read_counter(interface, "rx_packets", &packets_in)) {
        return false;
    }
    *out -= HEADERS * packets_out;
    *in -= HEADERS * packets_in;
    return true;
}
