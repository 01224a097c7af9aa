// Marks code that nvcc compiles for GPUs and every compiler compiles for the CPU, where the tests run it.
#pragma once

#ifdef __CUDACC__
#define TROUPE_HOST_DEVICE __host__ __device__
#else
#define TROUPE_HOST_DEVICE
#endif
