/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See served.h. For an MPI library without components: its own name, from its version.
 */
#include "served.h"

#include <ctype.h>
#include <stdio.h>

void hccl_bench_served(const char *collective, enum hccl_bench_mode mode, MPI_Comm comm,
                       char name[HCCL_BENCH_SERVED])
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0, used = 0;

    (void) collective;
    (void) mode;
    (void) comm;
    MPI_Get_library_version(version, &length);
    for (; used < length && used < HCCL_BENCH_SERVED - 1 && isalnum((unsigned char) version[used]);
         used++) {
        name[used] = (char) tolower((unsigned char) version[used]);
    }
    snprintf(name + used, (size_t) (HCCL_BENCH_SERVED - used), "%s", 0 == used ? "?" : "");
}
