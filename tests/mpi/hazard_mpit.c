/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_mpit.c: P77 as far as Open MPI 4.1 goes: the collective components' variables are read
 * through MPI_T and registered anew several times, before MPI_Init and while MPI runs.
 */
#include "hazard.h"

/* Reads every string variable of the coll framework; returns how many there are. */
static int read_variables(void)
{
    int count = 0;
    int found = 0;

    MPI_T_cvar_get_num(&count);
    for (int i = 0; i < count; i++) {
        char name[256];
        int name_length = sizeof(name);
        int verbosity, bind, scope, description_length = 0, values;
        MPI_Datatype type;
        MPI_T_enum kinds;
        MPI_T_cvar_handle handle;
        if (MPI_SUCCESS
                != MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &kinds, NULL,
                                       &description_length, &bind, &scope)
            || 0 != strncmp(name, "coll_", 5) || MPI_CHAR != type || MPI_T_BIND_NO_OBJECT != bind) {
            continue;
        }
        if (MPI_SUCCESS == MPI_T_cvar_handle_alloc(i, NULL, &handle, &values)) {
            char *text = calloc(1, (size_t) values + 65536);
            MPI_T_cvar_read(handle, text);
            found += strlen(text) < (size_t) values + 65536;
            MPI_T_cvar_handle_free(&handle);
            free(text);
        }
    }
    return found;
}

/* Opens the tool interface, reads, closes it. */
static int tool_round(void)
{
    int provided;
    int found;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    found = read_variables();
    MPI_T_finalize();
    return found;
}

static int found_before; /* MPI_Init */

static void p77(struct hz_ctx *hz)
{
    hz_every(hz, MPI_COMM_WORLD, 10);
    for (int round = 0; round < 2; round++) {
        int found = tool_round();
        HZ_CHECK(hz, 0 < found,
                 "round %d: no string variable of the collective components (%d before MPI_Init)",
                 round, found_before);
        hz_every(hz, MPI_COMM_WORLD, 10);
    }
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {{"P77", 1, p77}, {NULL, 0, NULL}};

    /* Registers the components' variables, and forgets them, twice before MPI_Init does it
     * again. MPI_T after MPI_Finalize crashes in Open MPI 4.1 itself. */
    found_before = tool_round();
    found_before = tool_round();
    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
