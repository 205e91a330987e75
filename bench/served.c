/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See served.h. Open MPI's part: reads its table of functions, of which each entry carries the module
 * of the component that it belongs to. The module's class is named mca_coll_NAME_module_t.
 */
#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"
#include "served.h"

#include <stdio.h>
#include <string.h>

struct entry {
    const char *collective;
    size_t module[HCCL_BENCH_MODES]; /* where the table holds the module, by mode */
};

#define AT(slot) offsetof(mca_coll_base_comm_coll_t, coll_##slot##_module)
static const struct entry entries[] = {
#define COLLECTIVE(Name, name, ...) {#name, {AT(name), AT(i##name), AT(name##_init)}},
#include "collectives.def"
#undef COLLECTIVE
};

static const char *class_of(const mca_coll_base_comm_coll_t *table, size_t at)
{
    mca_coll_base_module_t *module;

    memcpy(&module, (const char *) table + at, sizeof module);
    return NULL == module ? "" : ((opal_object_t *) module)->obj_class->cls_name;
}

void hccl_bench_served(const char *collective, enum hccl_bench_mode mode, MPI_Comm comm,
                       char name[HCCL_BENCH_SERVED])
{
    const char *class = "";

    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        if (0 == strcmp(entries[i].collective, collective)) {
            class = class_of(comm->c_coll, entries[i].module[mode]);
        }
    }
    const char *start = strstr(class, "_coll_");
    if (NULL == start || 1 != sscanf(start, "_coll_%23[a-z0-9]", name)) {
        strcpy(name, "?");
    }
}
