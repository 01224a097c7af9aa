// Turns user values into what travels and back, and records what they carry: boundaries and references.
//
// Encoding happens once, on the caller's thread. On arrival the runtime takes charge of a payload's boundary and
// references at once (PayloadReader's constructor, on the receiving thread); the values themselves are decoded later,
// on the thread that wants them. What nobody decodes is released with the reader.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/calls/variable_wire.h"
#include "actors/core/node_life.h"
#include "autograd/boundary.h"
#include "autograd/variable.h"
#include "messages/archive.h"
#include "messages/payload.h"

namespace troupe::detail {

class RRefHandle;

/// One message's worth of user values on their way out. Belongs to one thread.
class PayloadWriter final : public ArchiveHook {
 public:
  /// For that life of node `to` (without an incarnation: its present one); tensors for the devices there that `devices` says
  /// (null: from the CPU to the CPU); on behalf of `scope`, whose context (if any) gets the boundary.
  PayloadWriter(std::shared_ptr<const ScopeState> scope, NodeLife to, std::shared_ptr<const DeviceMap> devices);

  /// Releases what was handed out, unless finish() was called.
  ~PayloadWriter() override;
  PayloadWriter(const PayloadWriter&) = delete;
  PayloadWriter& operator=(const PayloadWriter&) = delete;

  [[nodiscard]] OutArchive& archive() { return archive_; }
  [[nodiscard]] NodeCore& node() const { return *scope_->node; }

  /// For save(Variable): its slot in the boundary, or nothing if no gradient will flow.
  [[nodiscard]] std::optional<std::uint32_t> slot_of(const Variable& variable);

  /// For save(RRef): registers one more handle of the value at `to` and returns its index in the message.
  [[nodiscard]] std::uint32_t hand_out(const std::shared_ptr<RRefHandle>& handle);

  /// The life that the references were handed out to; nothing if there are none.
  [[nodiscard]] std::optional<Incarnation> handed_out_to() const;

  /// A Variable that requires a gradient was saved although the scope has no context.
  [[nodiscard]] bool cut_a_graph() const { return cut_a_graph_; }

  /// Records the boundary and returns what travels. Call once, last.
  [[nodiscard]] msg::Payload finish();

 private:
  std::shared_ptr<const ScopeState> scope_;
  NodeLife to_;
  OutArchive archive_;
  std::vector<Variable> sent_;
  std::unordered_map<const void*, std::uint32_t> slots_;  // by variable identity
  std::vector<msg::RRefHandout> handouts_;
  bool cut_a_graph_ = false;
  bool finished_ = false;
};

/// One message's worth of user values that arrived. Belongs to one thread at a time.
class PayloadReader final : public ArchiveHook {
 public:
  /// Records the boundary and the references at once. `from` is the node that sent the payload.
  PayloadReader(std::shared_ptr<NodeCore> node, const NodeName& from, msg::Payload payload);
  PayloadReader(const PayloadReader&) = delete;
  PayloadReader& operator=(const PayloadReader&) = delete;

  /// Values are read in the order they were written. Throws DecodeError.
  [[nodiscard]] InArchive& archive() { return archive_; }

  /// For load(Variable): copies of one sent variable are one variable here.
  [[nodiscard]] Variable received(std::uint32_t slot, Tensor value);

  /// For load(RRef).
  [[nodiscard]] std::shared_ptr<RRefHandle> handle(std::uint32_t index) const;

  /// The values come of a call outside a context whose arguments required gradients: those that require one hold a vertex
  /// that fails a pass which reaches it, naming the call. Before anything is read.
  void cut_off_by(std::string call) { cut_off_by_ = std::move(call); }

  /// For load(Variable): one that requires a gradient and has no slot.
  [[nodiscard]] Variable without_slot(Tensor value) const;

 private:
  std::shared_ptr<NodeCore> node_;
  msg::Payload payload_;
  InArchive archive_;
  std::shared_ptr<const RecvFn> recv_;  // null without a boundary
  std::vector<Variable> received_;      // by slot; undefined until first read
  std::string cut_off_by_;              // empty: the graph begins here
  std::vector<std::shared_ptr<RRefHandle>> handles_;
};

/// The error for a value that would not be encoded.
[[nodiscard]] Error error_of_encoding(const NodeCore& node, const std::exception& exception);

}  // namespace troupe::detail
