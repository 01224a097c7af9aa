#include "node/control/stack_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <utility>

#include "node/text_table.h"
#include "node/visible_text.h"

namespace troupe {
namespace {

using detail::kRight;
using detail::shown;
using detail::TextTable;
using detail::visible_line;

/// Returns a heading, its table, and the number of unlisted entries; empty if there are none.
std::string paragraph(std::string_view heading, const TextTable& table, std::size_t listed, std::size_t in_all) {
  if (listed == 0) return {};
  std::string text = fmt::format("\n{}\n{}", heading, table.text(2));
  if (in_all > listed) text += fmt::format("  and {} younger ones\n", in_all - listed);
  return text;
}

std::string calls(const StackInfo& stack) {
  TextTable table({{"AGE", kRight}, {"LEFT", kRight}, {"NODE"}, {"WHAT"}, {"FROM"}});
  for (const WaitingCall& call : stack.calls) {
    table.add({shown(call.age), call.left ? shown(*call.left) : "no limit", visible_line(call.peer),
               visible_line(call.operation), call.site.empty() ? "-" : visible_line(call.site)});
  }
  return paragraph("Waits for answers of", table, stack.calls.size(), stack.counts.pending_calls);
}

std::string served(const StackInfo& stack) {
  TextTable table({{"AGE", kRight}, {"NODE"}, {"WHAT"}});
  for (const ServedFunction& function : stack.served) {
    table.add({shown(function.age), visible_line(function.caller), visible_line(function.operation)});
  }
  return paragraph("Works for", table, stack.served.size(), stack.counts.served_calls);
}

std::string values(const StackInfo& stack) {
  TextTable table({{"VALUE"}, {"AGE", kRight}, {"USED BY"}, {"WHICH"}});
  for (const ValueInUse& value : stack.values) {
    for (std::size_t i = 0; i < value.users.size(); ++i) {
      const ValueUser& user = value.users[i];
      table.add({i == 0 ? visible_line(value.value) : "", shown(user.age),
                 user.what.empty() ? "this program" : visible_line(user.what), std::string(name_of(user.state))});
    }
  }
  return paragraph("Values in use", table, stack.values.size(), stack.values.size());
}

std::string contexts(const StackInfo& stack) {
  TextTable table({{"CONTEXT"}, {"AGE", kRight}, {"PASSES", kRight}, {"SENDS", kRight}, {"WITH"}});
  for (const OpenContext& context : stack.contexts) {
    table.add({visible_line(context.context), shown(context.age), std::to_string(context.passes),
               std::to_string(context.sends),
               context.peers.empty() ? "-" : visible_line(fmt::format("{}", fmt::join(context.peers, ", ")))});
  }
  return paragraph("Contexts", table, stack.contexts.size(), stack.counts.contexts);
}

std::string barriers(const StackInfo& stack) {
  TextTable table({{"BARRIER"}, {"WAITS", kRight}, {"NODE"}, {"FOR"}});
  for (const OpenBarrier& barrier : stack.barriers) {
    for (std::size_t i = 0; i < barrier.waiting.size(); ++i) {
      table.add({i == 0 ? visible_line(barrier.operation) : "", shown(barrier.waiting[i].second),
                 visible_line(barrier.waiting[i].first),
                 i == 0 ? visible_line(fmt::format("{}", fmt::join(barrier.missing, ", "))) : "\""});
    }
  }
  return paragraph("Groups that meet here", table, stack.barriers.size(), stack.barriers.size());
}

std::string threads(const StackInfo& stack) {
  TextTable table({{"AGE", kRight}, {"DOES"}, {"JOB"}});
  for (const BusyThread& thread : stack.threads) {
    table.add({shown(thread.age), thread.waiting ? "waits" : "runs", visible_line(thread.job)});
  }
  const std::size_t busy = stack.counts.threads_busy + stack.counts.threads_waiting;
  return paragraph("Threads of the pool", table, stack.threads.size(), busy);
}

}  // namespace

std::string text_of(const StackReport& report) {
  const StackInfo& stack = report.stack;
  const std::string body =
      calls(stack) + served(stack) + values(stack) + contexts(stack) + barriers(stack) + threads(stack);
  std::string text = visible_line(stack.counts.node.name);
  if (report.node.rank) text += fmt::format(" (rank {})", *report.node.rank);
  text += fmt::format(", up {}{}\n", shown(report.node.age), body.empty() ? ": nothing waits" : "");
  text += body;
  if (!stack.silent.empty()) {
    text += fmt::format("\nNot everything: its {} did not answer in time\n",
                        visible_line(fmt::format("{}", fmt::join(stack.silent, ", "))));
  }
  return text;
}

}  // namespace troupe
