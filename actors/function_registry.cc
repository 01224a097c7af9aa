#include "actors/function_registry.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "actors/calls/function_table.h"
#include "actors/calls/scope_state.h"
#include "actors/core/node_core.h"

namespace troupe {

namespace {

std::shared_ptr<const detail::FunctionTable> with_all(detail::FunctionTable table,
                                                      std::initializer_list<Registration> registrations) {
  for (const Registration& registration : registrations) {
    for (const Registration::Entry& entry : registration.entries()) {
      std::visit([&table](const auto& one) { table.add(one); }, entry);
    }
  }
  return std::make_shared<const detail::FunctionTable>(std::move(table));
}

}  // namespace

Registration::Registration(detail::RegisteredException type) : entries_{std::move(type)} {}

Registration::~Registration() = default;
Registration::Registration(const Registration&) = default;
Registration::Registration(Registration&&) noexcept = default;
Registration& Registration::operator=(const Registration&) = default;
Registration& Registration::operator=(Registration&&) noexcept = default;

detail::RegisteredFunction::Run detail::run_by_key(const CallableKey& key, RunByKey run) {
  return [key, run](const TaskPlace& place, PayloadReader& arguments, void* object) {
    return run(key, place, arguments, object);
  };
}

/// It is stopped with the stream.
std::shared_ptr<detail::ScopeState> detail::stream_scope(const TaskPlace& place, const std::stop_source& stop) {
  auto state = std::make_shared<ScopeState>(*place.scope);
  state->stop = stop.get_token();
  if (const auto due = std::exchange(state->due, std::nullopt)) {
    state->call_deadline = std::max(*due - state->node->clock().now(), Duration{0});
  } else {
    state->unlimited = true;
  }
  return state;
}

void Registration::add(detail::RegisteredFunction function) { entries_.emplace_back(std::move(function)); }

FunctionRegistry::FunctionRegistry() : table_(std::make_shared<const detail::FunctionTable>()) {}

FunctionRegistry::FunctionRegistry(std::initializer_list<Registration> registrations)
    : table_(with_all({}, registrations)) {}

FunctionRegistry FunctionRegistry::with(std::initializer_list<Registration> registrations) const {
  FunctionRegistry both;
  both.table_ = with_all(*table_, registrations);
  return both;
}

std::vector<std::string> FunctionRegistry::names() const { return table_->names(); }

}  // namespace troupe
