#include "tensor/cuda/cudnn.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "tensor/cuda/stream.h"
#include "tensor/error.h"

namespace troupe::cuda {
namespace {

[[noreturn]] void fail_to_load() { throw DeviceError(fmt::format("[convolution] {}", dlerror())); }

template <class Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) fail_to_load();
}

DnnFunctions load_all() {
  const std::string name = fmt::format("libcudnn.so.{}", CUDNN_MAJOR);
  void* const library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail_to_load();
  DnnFunctions f{};
  load(library, "cudnnCreate", f.create);
  load(library, "cudnnSetStream", f.set_stream);
  load(library, "cudnnGetErrorString", f.status_text);
  load(library, "cudnnCreateTensorDescriptor", f.create_tensor);
  load(library, "cudnnSetTensorNdDescriptor", f.set_tensor);
  load(library, "cudnnDestroyTensorDescriptor", f.destroy_tensor);
  load(library, "cudnnCreateFilterDescriptor", f.create_filter);
  load(library, "cudnnSetFilterNdDescriptor", f.set_filter);
  load(library, "cudnnDestroyFilterDescriptor", f.destroy_filter);
  load(library, "cudnnCreateConvolutionDescriptor", f.create_convolution);
  load(library, "cudnnSetConvolutionNdDescriptor", f.set_convolution);
  load(library, "cudnnSetConvolutionGroupCount", f.set_groups);
  load(library, "cudnnSetConvolutionMathType", f.set_math);
  load(library, "cudnnGetConvolutionNdForwardOutputDim", f.output_sizes);
  load(library, "cudnnDestroyConvolutionDescriptor", f.destroy_convolution);
  load(library, "cudnnGetConvolutionForwardAlgorithm_v7", f.forward_algorithms);
  load(library, "cudnnGetConvolutionForwardWorkspaceSize", f.forward_workspace);
  load(library, "cudnnConvolutionForward", f.forward);
  load(library, "cudnnGetConvolutionBackwardDataAlgorithm_v7", f.backward_input_algorithms);
  load(library, "cudnnGetConvolutionBackwardDataWorkspaceSize", f.backward_input_workspace);
  load(library, "cudnnConvolutionBackwardData", f.backward_input);
  load(library, "cudnnGetConvolutionBackwardFilterAlgorithm_v7", f.backward_weight_algorithms);
  load(library, "cudnnGetConvolutionBackwardFilterWorkspaceSize", f.backward_weight_workspace);
  load(library, "cudnnConvolutionBackwardFilter", f.backward_weight);
  return f;
}

struct Handles {
  std::mutex mutex;
  std::vector<std::unique_ptr<Dnn>> of_gpu;
};

}  // namespace

const DnnFunctions& dnn_functions() {
  static const DnnFunctions loaded = load_all();
  return loaded;
}

void require_success(const DnnFunctions& functions, cudnnStatus_t status) {
  if (status != CUDNN_STATUS_SUCCESS) throw DeviceError(fmt::format("[convolution] {}", functions.status_text(status)));
}

void Dnn::require_success(cudnnStatus_t status) const {
  if (status == CUDNN_STATUS_SUCCESS) return;
  throw DeviceError(fmt::format("[convolution] {}: {}", to_string(Device::cuda(static_cast<std::int16_t>(index))), functions.status_text(status)));
}

const Dnn& dnn_of(int index) {
  // Never destroyed: the driver may have shut down before us.
  static Handles& all = *std::make_unique<Handles>().release();
  const std::lock_guard lock(all.mutex);
  const auto at = static_cast<std::size_t>(index);
  if (all.of_gpu.size() <= at) all.of_gpu.resize(at + 1);
  if (!all.of_gpu[at]) {
    const OnGpu gpu("convolution", index);
    auto dnn = std::make_unique<Dnn>(dnn_functions(), index);
    dnn->require_success(dnn->functions.create(&dnn->handle));
    dnn->require_success(dnn->functions.set_stream(dnn->handle, stream_of(index)));
    all.of_gpu[at] = std::move(dnn);
  }
  return *all.of_gpu[at];
}

}  // namespace troupe::cuda
