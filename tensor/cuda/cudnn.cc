#include "tensor/cuda/cudnn.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "tensor/cuda/library.h"
#include "tensor/cuda/stream.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

#if CUDNN_MAJOR >= 9
constexpr cudnnStatus_t kNoMemory = CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED;
#else
constexpr cudnnStatus_t kNoMemory = CUDNN_STATUS_ALLOC_FAILED;
#endif

[[noreturn]] void throw_failure(cudnnStatus_t status, const std::string& text) {
  if (status == kNoMemory) throw DeviceMemoryError(text);
  throw DeviceError(text);
}

DnnFunctions load_cudnn() {
  const Library library("convolution", fmt::format("libcudnn.so.{}", CUDNN_MAJOR));
  DnnFunctions f{};
  library.load("cudnnCreate", f.create);
  library.load("cudnnSetStream", f.set_stream);
  library.load("cudnnGetErrorString", f.status_text);
  library.load("cudnnCreateTensorDescriptor", f.create_tensor);
  library.load("cudnnSetTensorNdDescriptor", f.set_tensor);
  library.load("cudnnDestroyTensorDescriptor", f.destroy_tensor);
  library.load("cudnnCreateFilterDescriptor", f.create_filter);
  library.load("cudnnSetFilterNdDescriptor", f.set_filter);
  library.load("cudnnDestroyFilterDescriptor", f.destroy_filter);
  library.load("cudnnCreateConvolutionDescriptor", f.create_convolution);
  library.load("cudnnSetConvolutionNdDescriptor", f.set_convolution);
  library.load("cudnnSetConvolutionGroupCount", f.set_groups);
  library.load("cudnnSetConvolutionMathType", f.set_math);
  library.load("cudnnGetConvolutionNdForwardOutputDim", f.output_sizes);
  library.load("cudnnDestroyConvolutionDescriptor", f.destroy_convolution);
  library.load("cudnnGetConvolutionForwardAlgorithm_v7", f.forward_algorithms);
  library.load("cudnnGetConvolutionForwardWorkspaceSize", f.forward_workspace);
  library.load("cudnnConvolutionForward", f.forward);
  library.load("cudnnGetConvolutionBackwardDataAlgorithm_v7", f.backward_input_algorithms);
  library.load("cudnnGetConvolutionBackwardDataWorkspaceSize", f.backward_input_workspace);
  library.load("cudnnConvolutionBackwardData", f.backward_input);
  library.load("cudnnGetConvolutionBackwardFilterAlgorithm_v7", f.backward_weight_algorithms);
  library.load("cudnnGetConvolutionBackwardFilterWorkspaceSize", f.backward_weight_workspace);
  library.load("cudnnConvolutionBackwardFilter", f.backward_weight);
  return f;
}

}  // namespace

const DnnFunctions& dnn_functions() {
  static const DnnFunctions loaded = load_cudnn();
  return loaded;
}

void require_success(const DnnFunctions& functions, cudnnStatus_t status) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw_failure(status, fmt::format("[convolution] {}", functions.status_text(status)));
}

void Dnn::require_success(cudnnStatus_t status) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw_failure(status, fmt::format("[convolution] {}: {}", to_string(Device::cuda(static_cast<std::int16_t>(index))),
                                    functions.status_text(status)));
}

const Dnn& dnn_of(int index) {
  // Never destroyed: the driver may have shut down earlier.
  static OneForEachGpu<Dnn>& all = *std::make_unique<OneForEachGpu<Dnn>>().release();
  return all.at(index, [index] {
    const OnGpu gpu("convolution", index);
    auto dnn = std::make_unique<Dnn>(dnn_functions(), index);
    dnn->require_success(dnn->functions.create(&dnn->handle));
    dnn->require_success(dnn->functions.set_stream(dnn->handle, stream_of(index)));
    return dnn;
  });
}

}  // namespace troupe::cuda
