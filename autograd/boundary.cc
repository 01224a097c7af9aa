#include "autograd/boundary.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "autograd/describe.h"
#include "tensor/error.h"

namespace troupe {

SendFn::SendFn(std::vector<Edge> next, std::vector<Sent> sent, std::shared_ptr<const void> tag)
    : GradFn("send", VertexKind::send, std::move(next), static_cast<std::uint32_t>(sent.size()), Work::of_inputs),
      sent_(std::move(sent)),
      tag_(std::move(tag)) {}

std::shared_ptr<const SendFn> SendFn::make(std::span<const Variable> sent, std::shared_ptr<const void> tag) {
  if (sent.empty()) throw TensorError("[SendFn] no variables were sent");
  std::vector<Edge> next;
  std::vector<Sent> metas;
  for (const Variable& variable : sent) {
    if (!variable.requires_grad()) {
      throw TensorError(fmt::format("[SendFn] variable {} requires no gradient", next.size()));
    }
    next.push_back(variable.gradient_edge());
    const Tensor value = variable.value();
    metas.push_back({value.shape(), value.dtype(), value.device()});
  }
  return std::shared_ptr<const SendFn>(new SendFn(std::move(next), std::move(metas), std::move(tag)));
}

bool SendFn::is_on_cpu() const noexcept {
  return std::ranges::all_of(sent_, [](const Sent& sent) { return sent.device == Device::cpu(); });
}

void SendFn::check(std::span<const Tensor> gradients) const {
  if (gradients.size() != sent_.size()) {
    throw TensorError(
        fmt::format("[backward] {} gradients came for {} sent variables", gradients.size(), sent_.size()));
  }
  for (std::size_t i = 0; i < sent_.size(); ++i) {
    const Tensor& g = gradients[i];
    if (g.defined() && (g.shape() != sent_[i].shape || g.dtype() != sent_[i].dtype)) {
      throw TensorError(fmt::format("[backward] the gradient of sent variable {} does not fit: {} instead of {}", i,
                                    detail::describe(g), detail::describe(sent_[i].shape, sent_[i].dtype)));
    }
  }
}

std::vector<Tensor> SendFn::apply(std::vector<Tensor> gradients) const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].defined()) gradients[i] = gradients[i].to(sent_[i].device);
  }
  return gradients;
}

RecvFn::RecvFn(std::uint32_t count, std::shared_ptr<const void> tag)
    : GradFn("recv", VertexKind::recv, {}, count, Work::of_inputs), tag_(std::move(tag)) {}

std::shared_ptr<const RecvFn> RecvFn::make(std::uint32_t count, std::shared_ptr<const void> tag) {
  if (count == 0) throw TensorError("[RecvFn] no variables were received");
  return std::shared_ptr<const RecvFn>(new RecvFn(count, std::move(tag)));
}

Variable RecvFn::variable(const std::shared_ptr<const RecvFn>& recv, std::uint32_t slot, Tensor value) {
  if (slot >= recv->slot_count()) {
    throw TensorError(fmt::format("[RecvFn] slot {} of {}", slot, recv->slot_count()));
  }
  value.require_defined("RecvFn");
  if (!is_floating(value.dtype())) {
    throw DTypeError(fmt::format("[RecvFn] only floating point values have gradients: {}", name_of(value.dtype())));
  }
  return Variable::output_of({recv, slot}, std::move(value));
}

std::vector<Tensor> RecvFn::apply(std::vector<Tensor>) const {
  throw std::logic_error("[RecvFn] the engine hands gradients to the sink");
}

}  // namespace troupe
