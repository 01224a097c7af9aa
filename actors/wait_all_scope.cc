#include "actors/wait_all_scope.h"

#include <utility>

#include "actors/calls/open_calls.h"

namespace troupe {

namespace detail {
namespace {

Scope counting(const Scope& scope) {
  auto state = std::make_shared<ScopeState>(scope.state());
  state->open_calls = std::make_shared<OpenCalls>();
  return Scope(std::move(state));
}

}  // namespace
}  // namespace detail

WaitAllScope::WaitAllScope(const Scope& scope) : Scope(detail::counting(scope)) {}

WaitAllScope::~WaitAllScope() { state().open_calls->cancel(); }

void WaitAllScope::wait_all() {
  if (const auto error = state().open_calls->wait())
    detail::throw_error(detail::future_home_of(*this).exceptions.get(), *error);
}

}  // namespace troupe
