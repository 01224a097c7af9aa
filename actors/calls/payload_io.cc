#include "actors/calls/payload_io.h"

#include <fmt/format.h>

#include <span>
#include <stdexcept>
#include <utility>

#include "actors/calls/exception_types.h"
#include "actors/contexts/contexts.h"
#include "actors/contexts/known_route.h"
#include "actors/contexts/recv_tag.h"
#include "actors/core/guarded.h"
#include "actors/core/node_core.h"
#include "actors/exceptions.h"
#include "actors/future.h"
#include "actors/membership/membership.h"
#include "actors/references/references.h"

namespace troupe {

void WireFormat<Variable>::save(OutArchive& archive, const Variable& variable) {
  auto* writer = dynamic_cast<detail::PayloadWriter*>(archive.hook());
  if (writer == nullptr) {
    throw EncodeError(ErrorCode::not_serializable,
                      "[encode] a Variable travels only in a call or its result; send its value()");
  }
  const bool defined = variable.defined();
  archive(defined);
  if (!defined) return;
  const bool requires_grad = variable.requires_grad() && grad_enabled();  // else it is a constant, as for an operation
  const auto slot = requires_grad ? writer->slot_of(variable) : std::nullopt;
  archive(variable.value(), requires_grad, slot);
}

void WireFormat<Variable>::load(InArchive& archive, Variable& variable) {
  auto* reader = dynamic_cast<detail::PayloadReader*>(archive.hook());
  if (reader == nullptr) throw DecodeError("[decode] a Variable outside a call or its result");
  bool defined = false;
  archive(defined);
  if (!defined) {
    variable = Variable();
    return;
  }
  Tensor value;
  bool requires_grad = false;
  std::optional<std::uint32_t> slot;
  archive(value, requires_grad, slot);
  if (!value.defined() || (requires_grad && !is_floating(value.dtype()))) {
    throw DecodeError("[decode] a Variable without a value, or one that requires a gradient but is not floating point");
  }
  if (slot) variable = reader->received(*slot, std::move(value));
  else variable = requires_grad ? reader->without_slot(std::move(value)) : Variable(std::move(value));
}

namespace detail {
namespace {

/// The point where a call's graph would continue at its callee, if the call belonged to a context.
class CutFn final : public GradFn {
 public:
  explicit CutFn(std::string call) : GradFn("rpc", VertexKind::operation, {}), call_(std::move(call)) {}

  [[nodiscard]] std::vector<Tensor> apply(std::vector<Tensor>) const override {
    throw std::logic_error(
        fmt::format("no gradient comes back from {}, a call outside a DistContext: make it through the "
                    "context, or detach() its result",
                    call_));
  }

 private:
  std::string call_;
};

}  // namespace

PayloadWriter::PayloadWriter(std::shared_ptr<const ScopeState> scope, NodeLife to,
                             std::shared_ptr<const DeviceMap> devices)
    : scope_(std::move(scope)), to_(std::move(to)), archive_(this, kUnlimited, std::move(devices)) {}

void HandedOut::take_back(NodeCore& node) noexcept {
  for (const std::function<void()>& each : std::exchange(undo, {})) each();  // while the handles keep what they undo
  for (const msg::RRefHandout& handout : std::exchange(handles, {})) node.references().take_back(handout);
}

PayloadWriter::~PayloadWriter() { handed_out_.take_back(*scope_->node); }

std::optional<std::uint32_t> PayloadWriter::slot_of(const Variable& variable) {
  if (!scope_->context) {
    cut_a_graph_ = true;
    return std::nullopt;
  }
  const auto [at, added] = slots_.try_emplace(variable.id(), static_cast<std::uint32_t>(sent_.size()));
  if (added) sent_.push_back(variable);
  return at->second;
}

std::uint32_t PayloadWriter::hand_out(const std::shared_ptr<RRefHandle>& handle) {
  const bool is_present = handed_out_.handles.empty() && to_.incarnation == Incarnation{};
  if (is_present) to_ = scope_->node->membership().life_of(to_.name);  // only this life gets the message
  // Room first: a reference that is handed out must not get lost.
  if (handed_out_.handles.size() == handed_out_.handles.capacity())
    handed_out_.handles.reserve(2 * handed_out_.handles.size() + 1);
  handed_out_.handles.push_back(scope_->node->references().hand_out(handle, to_));
  return static_cast<std::uint32_t>(handed_out_.handles.size() - 1);
}

std::optional<Incarnation> PayloadWriter::handed_out_to() const {
  return handed_out_.handles.empty() ? std::nullopt : std::optional(to_.incarnation);
}

msg::Payload PayloadWriter::finish(std::string_view part, std::string_view operation) {
  Encoded encoded = archive_.finish();
  msg::Payload payload{make_frame(std::move(encoded.bytes)), std::move(encoded.frames), handed_out_.handles, {}};
  if (!sent_.empty()) {
    const auto id = scope_->node->next_id<BoundaryId>();
    auto send = SendFn::make(sent_);
    KnownRoute beyond(*scope_->context, scope_->node->name(), msg::kBeyondMax);
    beyond.add(*send);
    payload.boundary = msg::BoundaryHeader{*scope_->context, id, send->slot_count(), beyond.take()};
    scope_->node->contexts().record_send(*scope_->context, id, std::move(send), to_.name,
                                         fmt::format("{} of {}", part, operation));
  }
  return payload;
}

PayloadReader::PayloadReader(std::shared_ptr<NodeCore> node, const NodeName& from, msg::Payload&& payload)
    : node_(std::move(node)),
      payload_{std::move(payload.bytes), std::move(payload.tensors), {}, std::move(payload.boundary)},
      archive_(payload_.bytes.bytes, payload_.tensors, this),
      from_(from) {
  handles_ = node_->references().received(payload.refs, from);
  payload.refs.clear();
  if (payload_.boundary) {
    msg::BoundaryHeader& boundary = *payload_.boundary;
    if (boundary.beyond && !is_well_formed(*boundary.beyond, msg::kBeyondMax)) boundary.beyond.reset();
    recv_ = make_recv({boundary.context, boundary.id, from, std::move(boundary.beyond)}, boundary.slots);
    received_.resize(boundary.slots);
    node_->contexts().received_from(boundary.context, from);
  }
}

void PayloadReader::fail_decoding() const {
  Error error = error_of_decoding();
  error.peer = from_;
  error.operation = operation_;
  throw RemoteError(std::move(error));
}

Variable PayloadReader::received(std::uint32_t slot, Tensor value) {
  if (slot >= received_.size()) {
    throw DecodeError(fmt::format("[decode] slot {} of a boundary with {}", slot, received_.size()));
  }
  if (!received_[slot].defined()) {
    if (!is_floating(value.dtype())) throw DecodeError("[decode] a gradient for a value that is not floating point");
    const bool is_cut = may_outlast_context_ && node_->contexts().has_ended(payload_.boundary->context);
    received_[slot] = is_cut ? without_slot(std::move(value)) : RecvFn::variable(recv_, slot, std::move(value));
  }
  return received_[slot];
}

Variable PayloadReader::without_slot(Tensor value) const {
  if (cut_off_by_.empty()) return Variable(std::move(value), RequiresGrad::yes);
  return Variable::output_of({std::make_shared<const CutFn>(cut_off_by_), 0}, std::move(value));
}

std::shared_ptr<RRefHandle> PayloadReader::handle(std::uint32_t index) const {
  if (index >= handles_.size()) {
    throw DecodeError(fmt::format("[decode] reference {} of {}", index, handles_.size()));
  }
  return handles_[index];
}

Error error_of_encoding(const NodeCore& node, const std::exception& exception) {
  Error error;
  const auto* encoding = dynamic_cast<const EncodeError*>(&exception);
  error.code = encoding != nullptr ? encoding->code() : ErrorCode::not_serializable;
  error.message = text_of(exception);
  error.execution = Execution::never;
  error.peer = node.name();
  return error;
}

}  // namespace detail
}  // namespace troupe
