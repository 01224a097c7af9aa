// Encodes and decodes user values, and records the boundaries and references that they carry.
//
// Encoding happens once, on the caller's thread. On arrival, PayloadReader's constructor takes charge of the boundary
// and the references at once, on the receiving thread. The values are decoded later, on the thread that wants them.
// Destroying the reader releases what was not decoded.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "actors/calls/scope_state.h"
#include "actors/calls/variable_wire.h"
#include "autograd/boundary.h"
#include "autograd/variable.h"
#include "messages/archive.h"
#include "messages/ids.h"
#include "messages/payload.h"

namespace troupe::detail {

class RRefHandle;

/// What one message hands out. Taken back if it is never sent.
struct HandedOut {
  std::vector<msg::RRefHandout> handles;
  std::vector<std::function<void()>> undo;  ///< called when they have been taken back; none of them throws

  void take_back(NodeCore& node) noexcept;
};

/// Encodes the user values of one message. Belongs to one thread.
class PayloadWriter final : public ArchiveHook {
 public:
  /// The payload is for that life of node `to` (without an incarnation: its present life). `devices` maps tensors to
  /// devices there (null: from the CPU to the CPU). The context of `scope`, if any, gets the boundary.
  PayloadWriter(std::shared_ptr<const ScopeState> scope, NodeLife to, std::shared_ptr<const DeviceMap> devices);

  /// Takes back the references handed out, unless `hand_over` was called.
  ~PayloadWriter() override;
  PayloadWriter(const PayloadWriter&) = delete;
  PayloadWriter& operator=(const PayloadWriter&) = delete;

  [[nodiscard]] OutArchive& archive() { return archive_; }
  [[nodiscard]] NodeCore& node() const { return *scope_->node; }

  /// For save(Variable): returns its slot in the boundary; nullopt if no gradient will flow.
  [[nodiscard]] std::optional<std::uint32_t> slot_of(const Variable& variable);

  /// For save(RRef): registers one more handle of the value at `to`. Returns its index in the message.
  [[nodiscard]] std::uint32_t hand_out(const std::shared_ptr<RRefHandle>& handle);

  /// Calls `undo` if the message is never sent, as far as this node knows. REQUIRES: `undo` does not throw.
  void if_never_sent(std::function<void()> undo) { handed_out_.undo.push_back(std::move(undo)); }

  /// Returns the life to which references were handed out; nullopt if there are none.
  [[nodiscard]] std::optional<Incarnation> handed_out_to() const;

  /// Returns true if a Variable that requires a gradient was saved although the scope has no context.
  [[nodiscard]] bool cut_a_graph() const { return cut_a_graph_; }

  /// Records the boundary and returns the payload. `part` and `operation` say what the message is, for reports:
  /// "arguments", "rpc project". REQUIRES: called once, after all values.
  [[nodiscard]] msg::Payload finish(std::string_view part, std::string_view operation);

  /// Returns what was handed out. From now on the caller takes it back if the payload is never sent.
  HandedOut hand_over() noexcept { return std::exchange(handed_out_, {}); }

 private:
  std::shared_ptr<const ScopeState> scope_;
  NodeLife to_;
  OutArchive archive_;
  std::vector<Variable> sent_;
  std::unordered_map<const void*, std::uint32_t> slots_;  // by variable identity
  HandedOut handed_out_;
  bool cut_a_graph_ = false;
};

/// Decodes the user values of one received message. Belongs to one thread at a time.
class PayloadReader final : public ArchiveHook {
 public:
  /// Takes charge of the boundary and the references at once. `from` is the node that sent the payload. Throws
  /// std::bad_alloc; then `payload` still has its references.
  PayloadReader(std::shared_ptr<NodeCore> node, const NodeName& from, msg::Payload&& payload);
  PayloadReader(const PayloadReader&) = delete;
  PayloadReader& operator=(const PayloadReader&) = delete;

  /// Returns the archive; it reads values in the order in which they were written. Throws DecodeError.
  [[nodiscard]] InArchive& archive() { return archive_; }

  /// For load(Variable): copies of one sent variable become one variable here.
  [[nodiscard]] Variable received(std::uint32_t slot, Tensor value);

  /// For load(RRef).
  [[nodiscard]] std::shared_ptr<RRefHandle> handle(std::uint32_t index) const;

  /// Releases what the reader holds for values that carry references: these hold it from now on. REQUIRES: all values
  /// have been decoded.
  void all_decoded() { handles_.clear(); }

  /// The arguments of a call are decoded and its function starts: what is thrown from now on is thrown by the function.
  void begin_function() { function_began_ = true; }
  [[nodiscard]] bool function_began() const { return function_began_; }

  /// Marks values from a call outside a context whose arguments required gradients: a value that requires one holds a
  /// vertex that fails any pass reaching it, with an error that names `call`. REQUIRES: nothing has been decoded.
  void cut_off_by(std::string call) { cut_off_by_ = std::move(call); }

  /// Values that are decoded after their context has ended are cut from the graph, as from a call outside a context.
  void may_outlast_context() { may_outlast_context_ = true; }

  /// Marks values as the result of a call, for fail_decoding().
  void answers(std::string operation) { operation_ = std::move(operation); }

  /// For the exception being handled while a value was decoded: throws RemoteError with the error of
  /// error_of_decoding(), the node that sent the value, and the call that it answers.
  [[noreturn]] void fail_decoding() const;

  /// For load(Variable): a variable that requires a gradient and has no slot.
  [[nodiscard]] Variable without_slot(Tensor value) const;

 private:
  std::shared_ptr<NodeCore> node_;
  msg::Payload payload_;
  InArchive archive_;
  std::shared_ptr<const RecvFn> recv_;  // null without a boundary
  std::vector<Variable> received_;      // by slot; undefined until first read
  std::string cut_off_by_;              // empty: the graph starts here
  const NodeName from_;
  std::string operation_;  // empty: not of an answer
  std::vector<std::shared_ptr<RRefHandle>> handles_;
  bool function_began_ = false;
  bool may_outlast_context_ = false;
};

/// Returns the error for a value that failed to encode with `exception`.
[[nodiscard]] Error error_of_encoding(const NodeCore& node, const std::exception& exception);

}  // namespace troupe::detail
