#include "tensor/kernels/convolution.h"

#include <fmt/format.h>

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tensor/cuda/convolution_descriptors.h"
#include "tensor/cuda/convolution_plan.h"
#include "tensor/cuda/cudnn.h"
#include "tensor/cuda/stream.h"
#include "tensor/error.h"
#include "tensor/kernels/elementwise.h"

namespace troupe::cuda {
namespace {

/// A pass of a convolution: cuDNN's functions that list its algorithms and their workspace.
struct Forward {
  static constexpr int kNumber = 0;
  using Offer = cudnnConvolutionFwdAlgoPerf_t;
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  static constexpr int kCount = CUDNN_CONVOLUTION_FWD_ALGO_COUNT;
  static cudnnStatus_t offers(const Dnn& dnn, const ConvolutionDescriptors& d, int& count, Offer* to) {
    return dnn.functions.forward_algorithms(dnn.handle, d.x(), d.weight(), d.convolution(), d.y(), kCount, &count, to);
  }
  static cudnnStatus_t workspace(const Dnn& dnn, const ConvolutionDescriptors& d, Algorithm algorithm,
                                 std::size_t& size) {
    return dnn.functions.forward_workspace(dnn.handle, d.x(), d.weight(), d.convolution(), d.y(), algorithm, &size);
  }
};

struct BackwardInput {
  static constexpr int kNumber = 1;
  using Offer = cudnnConvolutionBwdDataAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  static constexpr int kCount = CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT;
  static cudnnStatus_t offers(const Dnn& dnn, const ConvolutionDescriptors& d, int& count, Offer* to) {
    return dnn.functions.backward_input_algorithms(dnn.handle, d.weight(), d.y(), d.convolution(), d.x(), kCount,
                                                   &count, to);
  }
  static cudnnStatus_t workspace(const Dnn& dnn, const ConvolutionDescriptors& d, Algorithm algorithm,
                                 std::size_t& size) {
    return dnn.functions.backward_input_workspace(dnn.handle, d.weight(), d.y(), d.convolution(), d.x(), algorithm,
                                                  &size);
  }
};

struct BackwardWeight {
  static constexpr int kNumber = 2;
  using Offer = cudnnConvolutionBwdFilterAlgoPerf_t;
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  static constexpr int kCount = CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT;
  static cudnnStatus_t offers(const Dnn& dnn, const ConvolutionDescriptors& d, int& count, Offer* to) {
    return dnn.functions.backward_weight_algorithms(dnn.handle, d.x(), d.y(), d.convolution(), d.weight(), kCount,
                                                    &count, to);
  }
  static cudnnStatus_t workspace(const Dnn& dnn, const ConvolutionDescriptors& d, Algorithm algorithm,
                                 std::size_t& size) {
    return dnn.functions.backward_weight_workspace(dnn.handle, d.x(), d.y(), d.convolution(), d.weight(), algorithm,
                                                   &size);
  }
};

/// A convolution with its descriptors, algorithm and workspace.
struct Prepared {
  Prepared(const DnnFunctions& functions, const ConvolutionPlan& plan) : descriptors(functions, plan) {}
  ConvolutionDescriptors descriptors;
  int algorithm = 0;
  std::size_t workspace = 0;
};

std::string text_of(const std::array<int, 4>& sizes) {
  return to_string(Shape{sizes[0], sizes[1], sizes[2], sizes[3]});
}

template <class Pass>
std::unique_ptr<Prepared> prepare(const Dnn& dnn, const ConvolutionPlan& plan) {
  auto prepared = std::make_unique<Prepared>(dnn.functions, plan);
  ConvolutionDescriptors& descriptors = prepared->descriptors;
  std::array<typename Pass::Offer, Pass::kCount> said{};
  int count = 0;
  dnn.require_success(Pass::offers(dnn, descriptors, count, said.data()));
  std::vector<AlgorithmOffer> offers;
  for (const auto& offer : std::span(said).first(static_cast<std::size_t>(count))) {
    offers.push_back({.number = static_cast<int>(offer.algo),
                      .works = offer.status == CUDNN_STATUS_SUCCESS,
                      .deterministic = offer.determinism == CUDNN_DETERMINISTIC,
                      .exact = descriptors.is_exact(offer.mathType),
                      .workspace = offer.memory});
  }
  const auto chosen = choose_algorithm(offers);
  if (!chosen) {
    throw DeviceError(fmt::format("[convolution] {}: cuDNN has no deterministic algorithm for x {} and weight {}",
                                  to_string(Device::cuda(static_cast<std::int16_t>(dnn.index))), text_of(plan.x),
                                  text_of(plan.weight)));
  }
  descriptors.set_math(said[*chosen].mathType);
  prepared->algorithm = offers[*chosen].number;
  dnn.require_success(Pass::workspace(dnn, descriptors, said[*chosen].algo, prepared->workspace));
  return prepared;
}

/// Prepared convolutions: cuDNN's choice of an algorithm takes longer than a small convolution.
struct PreparedBefore {
  using Key = std::tuple<int, int, ConvolutionPlan>;  // GPU, pass
  std::mutex mutex;
  std::map<Key, std::shared_ptr<const Prepared>> all;
};

/// REQUIRES: the mutex of `dnn` is held during the call and while the result is used.
template <class Pass>
std::shared_ptr<const Prepared> prepared(const Dnn& dnn, const ConvolutionPlan& plan) {
  constexpr std::size_t kKeptMax = 1024;
  // Never destroyed, like the handles.
  static PreparedBefore& before = *std::make_unique<PreparedBefore>().release();
  const std::lock_guard lock(before.mutex);
  const PreparedBefore::Key key{dnn.index, Pass::kNumber, plan};
  const auto found = before.all.find(key);
  if (found != before.all.end()) return found->second;
  std::shared_ptr<const Prepared> made = prepare<Pass>(dnn, plan);
  if (before.all.size() >= kKeptMax) before.all.clear();
  before.all.emplace(key, made);
  return made;
}

/// cuDNN on one GPU, with the interface that convolution_plan.h requires of a library.
class Cudnn {
 public:
  explicit Cudnn(Device device) : gpu_("convolution", device.index), device_(device), dnn_(dnn_of(device.index)) {}

  [[nodiscard]] std::int64_t elements_max() const noexcept { return std::numeric_limits<std::int32_t>::max(); }

  void forward(const ConvolutionPlan& plan, const Place& y, const Place& x, const Place& weight) const {
    run<Forward>(plan, [&](const Call& c) {
      return dnn_.functions.forward(dnn_.handle, c.one, c.at.x(), x.data, c.at.weight(), weight.data,
                                    c.at.convolution(), static_cast<Forward::Algorithm>(c.algorithm), c.room,
                                    c.room_size, c.zero, c.at.y(), y.data);
    });
  }

  void backward_input(const ConvolutionPlan& plan, const Place& dx, const Place& dy, const Place& weight) const {
    run<BackwardInput>(plan, [&](const Call& c) {
      return dnn_.functions.backward_input(dnn_.handle, c.one, c.at.weight(), weight.data, c.at.y(), dy.data,
                                           c.at.convolution(), static_cast<BackwardInput::Algorithm>(c.algorithm),
                                           c.room, c.room_size, c.zero, c.at.x(), dx.data);
    });
  }

  void backward_weight(const ConvolutionPlan& plan, const Place& dw, const Place& dy, const Place& x,
                       Target target) const {
    run<BackwardWeight>(plan, [&](const Call& c) {
      return dnn_.functions.backward_weight(dnn_.handle, c.one, c.at.x(), x.data, c.at.y(), dy.data, c.at.convolution(),
                                            static_cast<BackwardWeight::Algorithm>(c.algorithm), c.room, c.room_size,
                                            target == Target::replaced ? c.zero : c.one, c.at.weight(), dw.data);
    });
  }

 private:
  /// The arguments that all calls share.
  struct Call {
    const ConvolutionDescriptors& at;
    int algorithm;
    void* room;
    std::size_t room_size;
    const void* one;
    const void* zero;
  };

  template <class Pass, class F>
  void run(const ConvolutionPlan& plan, const F& f) const {
    // cuDNN allows one thread at a time per handle.
    const std::lock_guard lock(dnn_.mutex);
    const std::shared_ptr<const Prepared> ready = prepared<Pass>(dnn_, plan);
    // Freed after the call; later work on the stream may reuse the memory.
    Tensor room = Tensor::empty({static_cast<std::int64_t>(ready->workspace)}, DType::u8, device_);
    const double one = 1.0;
    const double zero = 0.0;
    const float one_f32 = 1.0F;
    const float zero_f32 = 0.0F;
    const bool is_f64 = plan.dtype == DType::f64;
    dnn_.require_success(
        f({ready->descriptors, ready->algorithm, written(room).data, ready->workspace,
           is_f64 ? static_cast<const void*>(&one) : &one_f32, is_f64 ? static_cast<const void*>(&zero) : &zero_f32}));
  }

  OnGpu gpu_;
  Device device_;
  const Dnn& dnn_;
};

void convolve(Tensor& y, const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
  convolve_with(Cudnn(y.device()), y, x, weight, options);
  if (bias.defined()) binary_kernels.binary(kernels::BinaryOp::add, y, y, bias.view({-1, 1, 1}).expand(y.shape()));
}

void convolve_backward_input(Tensor& dx, const Tensor& dy, const Tensor& weight, const Conv2dOptions& options) {
  convolve_backward_input_with(Cudnn(dx.device()), dx, dy, weight, options);
}

void convolve_backward_weight(Tensor& dw, const Tensor& dy, const Tensor& x, const Conv2dOptions& options) {
  convolve_backward_weight_with(Cudnn(dw.device()), dw, dy, x, options);
}

void convolve_backward(Tensor& dx, Tensor& dw, const Tensor& dy, const Tensor& x, const Tensor& weight,
                       const Conv2dOptions& options) {
  convolve_backward_input(dx, dy, weight, options);
  convolve_backward_weight(dw, dy, x, options);
}

}  // namespace

const kernels::ConvolutionKernels convolution_kernels{.convolve = convolve,
                                                      .convolve_backward_input = convolve_backward_input,
                                                      .convolve_backward_weight = convolve_backward_weight,
                                                      .convolve_backward = convolve_backward};

}  // namespace troupe::cuda
