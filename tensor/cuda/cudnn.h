// cuDNN, loaded on demand: a program that computes no convolution on a GPU also starts without the library.
#pragma once

#include <cudnn.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "tensor/cuda/room.h"

namespace troupe::cuda {

/// The functions used.
struct DnnFunctions {
  decltype(&cudnnCreate) create;
  decltype(&cudnnDestroy) destroy;
  decltype(&cudnnSetStream) set_stream;
  decltype(&cudnnGetErrorString) status_text;
  decltype(&cudnnCreateTensorDescriptor) create_tensor;
  decltype(&cudnnSetTensorNdDescriptor) set_tensor;
  decltype(&cudnnDestroyTensorDescriptor) destroy_tensor;
  decltype(&cudnnCreateFilterDescriptor) create_filter;
  decltype(&cudnnSetFilterNdDescriptor) set_filter;
  decltype(&cudnnDestroyFilterDescriptor) destroy_filter;
  decltype(&cudnnCreateConvolutionDescriptor) create_convolution;
  decltype(&cudnnSetConvolutionNdDescriptor) set_convolution;
  decltype(&cudnnSetConvolutionGroupCount) set_groups;
  decltype(&cudnnSetConvolutionMathType) set_math;
  decltype(&cudnnGetConvolutionNdForwardOutputDim) output_sizes;
  decltype(&cudnnDestroyConvolutionDescriptor) destroy_convolution;
  decltype(&cudnnGetConvolutionForwardAlgorithm_v7) forward_algorithms;
  decltype(&cudnnGetConvolutionForwardWorkspaceSize) forward_workspace;
  decltype(&cudnnConvolutionForward) forward;
  decltype(&cudnnGetConvolutionBackwardDataAlgorithm_v7) backward_input_algorithms;
  decltype(&cudnnGetConvolutionBackwardDataWorkspaceSize) backward_input_workspace;
  decltype(&cudnnConvolutionBackwardData) backward_input;
  decltype(&cudnnGetConvolutionBackwardFilterAlgorithm_v7) backward_weight_algorithms;
  decltype(&cudnnGetConvolutionBackwardFilterWorkspaceSize) backward_weight_workspace;
  decltype(&cudnnConvolutionBackwardFilter) backward_weight;
};

/// Returns the functions of cuDNN; loads it at the first call. Thread-safe. Throws DeviceError `[convolution]
/// libcudnn.so.9: cannot open shared object file: No such file or directory`.
[[nodiscard]] const DnnFunctions& dnn_functions();

/// Throws DeviceError `[convolution] CUDNN_STATUS_BAD_PARAM` unless `status` is success, of the kind DeviceMemoryError
/// if the GPU has no memory.
void require_success(const DnnFunctions& functions, cudnnStatus_t status);

/// A handle for one GPU, on its stream. Guarded by `mutex`, which the caller holds. Owns the handle.
struct Dnn {
  const DnnFunctions& functions;
  int index;
  cudnnHandle_t handle = nullptr;
  mutable std::mutex mutex;

  Dnn(const DnnFunctions& functions_in, int index_in) : functions(functions_in), index(index_in) {}
  ~Dnn() {
    if (handle != nullptr) static_cast<void>(functions.destroy(handle));
  }
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  /// The same, with text `[convolution] cuda:0: CUDNN_STATUS_EXECUTION_FAILED`.
  void require_success(cudnnStatus_t status) const;
  [[nodiscard]] std::string text_of(cudnnStatus_t status) const;
};

/// Returns a handle for GPU `index` on `stream`. If cuDNN finds no memory, or is not initialized, as it may say of a
/// full GPU, makes room and tries once more. Throws as require_success(); DeviceMemoryError too if it is not
/// initialized while room is lacking. REQUIRES: GPU `index` is the thread's current device.
[[nodiscard]] std::unique_ptr<Dnn> make_dnn(const DnnFunctions& functions, int index, CUstream_st* stream,
                                            const Room& room);

/// Returns the handle of GPU `index`. It is created at the first call and never destroyed. Thread-safe. Throws
/// DeviceError if cuDNN is missing or fails.
[[nodiscard]] const Dnn& dnn_of(int index);

}  // namespace troupe::cuda
