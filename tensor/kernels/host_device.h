// Code that is compiled for GPUs by nvcc, and for the CPU by every compiler: there the tests run it.
#pragma once

#ifdef __CUDACC__
#define TROUPE_HOST_DEVICE __host__ __device__
#else
#define TROUPE_HOST_DEVICE
#endif
