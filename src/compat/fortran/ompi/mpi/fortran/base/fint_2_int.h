/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stand-in for a header that ompi/op/op.h includes and that distributions leave out of their
 * development package. It is on the include path only when configure finds the real one missing.
 *
 * Conversions between Fortran INTEGER or LOGICAL and C int, for the case that an MPI_Fint is an
 * int (checked below): there is nothing to convert.
 */
#ifndef OMPI_FORTRAN_BASE_FINT_2_INT_H
#define OMPI_FORTRAN_BASE_FINT_2_INT_H

#include "ompi_config.h"

#if OMPI_SIZEOF_FORTRAN_INTEGER != SIZEOF_INT
#error "Open MPI was built with a Fortran INTEGER unlike int; its fint_2_int.h is needed"
#endif

#define OMPI_FINT_2_INT(a) (a)
#define OMPI_INT_2_FINT(a) (a)
#define OMPI_LOGICAL_2_INT(a) (a)
#define OMPI_INT_2_LOGICAL(a) (a)

#endif
