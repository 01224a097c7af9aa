#include "actors/stream.h"

#include <fmt/format.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "actors/calls/scope_state.h"
#include "actors/contexts/contexts.h"
#include "actors/core/node_core.h"
#include "actors/references/references.h"

namespace troupe::detail {
namespace {

std::string operation_on(const RRefHandle& stream) { return "next of stream " + stream.id().text(); }

}  // namespace

Scope scope_of_requests(const Scope& scope) {
  auto state = std::make_shared<ScopeState>(scope.with({.deadline = Deadline::while_peer_lives()}).state());
  state->due.reset();
  state->open_calls.reset();
  return Scope(std::move(state));
}

bool is_elsewhere(const Scope& scope, const std::optional<ContextId>& asked_in) {
  const ScopeState& here = scope.state();
  return here.context != asked_in && !(asked_in && here.node->contexts().has_ended(*asked_in));
}

void refuse_elsewhere(const Scope& scope, const std::optional<ContextId>& asked_in, std::size_t count,
                      const RRefHandle& stream) {
  const auto place = [](const std::optional<ContextId>& context) {
    return context ? "in context " + context->text() : std::string("outside a context");
  };
  Error error =
      scope.state().node->error(ErrorCode::bad_argument, stream.owner().name, operation_on(stream),
                                fmt::format("{} requested {}, and {} read {}: no gradient would come back",
                                            count == 1 ? "an element was" : fmt::format("{} elements were", count),
                                            place(asked_in), count == 1 ? "is" : "are", place(scope.state().context)));
  error.hint = "read them where they were requested: with ahead(1) none is requested ahead";
  throw RemoteError(std::move(error));
}

void wait_for_element(const Scope& scope, FutureCore& element, const RRefHandle& stream) {
  NodeCore& node = *scope.state().node;
  const auto due = due_of(scope.state());
  if (!due) return element.wait();
  if (element.wait_for(*due - node.clock().now())) return;
  throw RemoteError(node.error(ErrorCode::timeout, stream.owner().name, operation_on(stream),
                               "the next element was not there in time"));
}

void save_stream(OutArchive& archive, ValueBox source, const std::shared_ptr<StreamClaim>& claim,
                 const std::string& type) {
  auto* writer = dynamic_cast<PayloadWriter*>(archive.hook());
  if (writer == nullptr) {
    throw EncodeError(ErrorCode::not_serializable, "[encode] a Stream travels only in a call or its result");
  }
  if (!claim->send()) {
    throw EncodeError(ErrorCode::not_serializable,
                      claim->was_sent() ? "[encode] the stream was sent before" : "[encode] the stream is being read");
  }
  try {
    writer->if_never_sent([weak = std::weak_ptr(claim)] {
      if (const auto unsent = weak.lock()) unsent->take_back();
    });
  } catch (const std::bad_alloc&) {
    claim->take_back();
    throw;
  }
  const auto handle = writer->node().references().own(std::move(source), type, SourceLocation::current());
  archive(std::optional(writer->hand_out(handle)));
}

}  // namespace troupe::detail
