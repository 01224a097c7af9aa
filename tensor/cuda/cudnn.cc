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
  library.load("cudnnDestroy", f.destroy);
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
  throw_failure(status, text_of(status));
}

std::string Dnn::text_of(cudnnStatus_t status) const {
  return fmt::format("[convolution] {}: {}", to_string(Device::cuda(static_cast<std::int16_t>(index))),
                     functions.status_text(status));
}

std::unique_ptr<Dnn> make_dnn(const DnnFunctions& functions, int index, CUstream_st* stream, const Room& room) {
  auto dnn = std::make_unique<Dnn>(functions, index);
  cudnnHandle_t handle = nullptr;
  const cudnnStatus_t status = with_room(
      room, [&] { return functions.create(&handle); },
      [](cudnnStatus_t made) { return made == kNoMemory || made == CUDNN_STATUS_NOT_INITIALIZED; });
  if (status == CUDNN_STATUS_NOT_INITIALIZED && room.is_lacking()) throw DeviceMemoryError(dnn->text_of(status));
  dnn->require_success(status);
  dnn->handle = handle;
  dnn->require_success(functions.set_stream(handle, stream));
  return dnn;
}

const Dnn& dnn_of(int index) {
  // Never destroyed: the driver may have shut down earlier.
  static OneForEachGpu<Dnn>& all = *std::make_unique<OneForEachGpu<Dnn>>().release();
  return all.at(index, [index] {
    const OnGpu gpu("convolution", index);
    return make_dnn(dnn_functions(), index, stream_of(index), room_of(index));
  });
}

}  // namespace troupe::cuda
