/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Gives each parameter of the component that is a number, a size or a switch values that are none, and each
 * HCCL_ variable that stands for one: there must be one line about it, which names parameter, value and what
 * is accepted. The component registers its parameters and opens once more for each, in a child
 * process that ends then. Prints one line per kind. Run on one rank. Looks into Open MPI's structures.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ompi_config.h"
#include "mpi.h"
#include "opal/mca/mca.h"

static const mca_base_component_t *component;

typedef enum { INT, SIZE, BOOL, TEXT, KINDS } kind_t;

typedef struct param {
    const char *name;
    kind_t kind;
    size_t minimum, maximum;
} param_t;

static const param_t params[] = {
#define HCCL_PARAM(name, type, value, minimum, maximum, same, text) \
    {#name, type, (size_t) (minimum), (size_t) (maximum)},
#include "base/params.def"
#undef HCCL_PARAM
#define HCCL_COLLECTIVE(ID, name, ...) {#name, BOOL, 0, 0},
#include "base/collectives.def"
#undef HCCL_COLLECTIVE
};

static const struct {
    const char *variable, *parameter;
} variables[] = {
#define HCCL_ENVIRONMENT(variable, parameter) {#variable, #parameter},
#include "base/environment.def"
#undef HCCL_ENVIRONMENT
};

static int tried[KINDS], from_variables;
static bool failed;

/* What the component says when a variable of the environment has this value. */
static void hear(const char *variable, const char *value, char *said, size_t len)
{
    int ends[2];
    size_t n = 0;
    if (0 != pipe(ends)) {
        perror("values: pipe");
        exit(1);
    }
    pid_t child = fork();
    if (0 == child) {
        setenv(variable, value, 1);
        dup2(ends[1], 2);
        close(ends[0]);
        int rc = component->mca_register_component_params();
        if (0 == rc) {
            rc = component->mca_open_component();
        }
        _exit(0 == rc ? 0 : 1);
    }
    close(ends[1]);
    for (ssize_t got = 1; n + 1 < len && got > 0; n += got > 0 ? (size_t) got : 0) {
        got = read(ends[0], said + n, len - 1 - n);
    }
    said[n] = '\0';
    close(ends[0]);
    if (child < 0 || child != waitpid(child, NULL, 0)) {
        perror("values: child");
        exit(1);
    }
}

/* The first thing that is wrong with what it has said, NULL: nothing. */
static const char *wrong(const char *said, const param_t *p, const char *variable,
                         const char *value)
{
    char words[256];
    const char *line = strchr(said, '\n');
    if (NULL == line || '\0' != line[1]) {
        return NULL == line ? "no line" : "more than one line";
    }
    snprintf(words, sizeof(words),
             "parameter coll_hccl_%s%s%s%s: \"%s\" is not accepted; accepted: ", p->name,
             NULL == variable ? "" : " (", NULL == variable ? "" : variable,
             NULL == variable ? "" : ")", value);
    const char *accepted = strstr(said, words);
    if (NULL == accepted) {
        return "it does not name parameter and value";
    }
    snprintf(words, sizeof(words), "%zu to %zu", p->minimum, p->maximum);
    if (NULL == strstr(accepted, BOOL == p->kind ? "true and false" : words)
        || NULL == strstr(accepted, "does not run with it")) {
        return "it does not say what is accepted, and what happens now";
    }
    return NULL;
}

/* by: the variable of the environment, NULL: Open MPI's own. */
static void refuses(const param_t *p, const char *by, const char *value)
{
    static const char *const synonyms[] = {
#define HCCL_ENVIRONMENT(variable, parameter) #parameter, #variable,
#include "base/environment.def"
#undef HCCL_ENVIRONMENT
    };
    char key[128], said[4096];
    const char *named = by;
    snprintf(key, sizeof(key), "OMPI_MCA_coll_hccl_%s", p->name);
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i += 2) {
        named = 0 == strcmp(p->name, synonyms[i]) ? synonyms[i + 1] : named;
    }
    hear(NULL == by ? key : by, value, said, sizeof(said));
    const char *why = wrong(said, p, named, value);
    if (NULL != why) {
        printf("not ok select/values: %s=%s: %s: %.200s\n", NULL == by ? key : by, value, why,
               said);
        failed = true;
    }
}

/* All that Open MPI would take for another value without a word. */
static void refuses_all(const param_t *p, const char *by)
{
    static const char *const numbers[] = {
        "16x", "x16", "", "1 6", "8kb", "99999999999999999999", "17592186044417m"};
    static const char *const switches[] = {"", "maybe", "1x"};
    const char *const *list = BOOL == p->kind ? switches : numbers;
    size_t n = BOOL == p->kind ? 3 : 7;
    for (size_t i = 0; TEXT != p->kind && i < n; i++) {
        refuses(p, by, list[i]);
        ++*(NULL == by ? &tried[p->kind] : &from_variables);
    }
}

int main(int argc, char **argv)
{
    static const char *const kinds[KINDS] = {"numbers", "sizes", "switches", "texts"};
    MPI_Init(&argc, &argv);
    component = dlsym(RTLD_DEFAULT, "mca_coll_hccl_component");
    if (NULL == component) {
        printf("not ok select/values: the component is not there\n");
        MPI_Finalize();
        return 1;
    }
    fflush(stdout);
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        refuses_all(&params[i], NULL);
        for (size_t k = 0; k < sizeof(variables) / sizeof(variables[0]); k++) {
            if (0 == strcmp(variables[k].parameter, params[i].name)) {
                refuses_all(&params[i], variables[k].variable);
            }
        }
    }
    for (int kind = INT; !failed && kind < TEXT; kind++) {
        printf("ok select/values: %d of %s\n", tried[kind], kinds[kind]);
    }
    if (!failed) {
        printf("ok select/values: %d of HCCL_ variables\n", from_variables);
    }
    MPI_Finalize();
    return failed ? 1 : 0;
}
