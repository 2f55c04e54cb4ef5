/*
 * For a template that is compiled by itself: the device header of whatever it is compiled for.
 * Generated sources name the header of their target instead.
 */
#ifndef KILN_DEVICE_DEVICE_H
#define KILN_DEVICE_DEVICE_H

#if defined(__AMDGCN__)
#include "device/amdgcn.h"
#elif defined(__CUDACC__)
#include "device/cuda.h"
#else
#include "device/host.h"
#endif

#endif
