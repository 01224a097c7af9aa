#include "node/sim/sim_executor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <system_error>
#include <tuple>
#include <utility>

#include "actors/core/error_not_run.h"
#include "actors/core/guarded.h"
#include "node/sim/node_killed.h"

namespace troupe::sim {
namespace {

Error stopped() { return detail::error_not_run(ErrorCode::shutting_down, "the pool is stopped"); }

Error exhausted(std::string message) {
  return detail::error_not_run(ErrorCode::resource_exhausted, std::move(message));
}

Error all_threads_wait(std::size_t threads) {
  return exhausted(fmt::format("all {} pool threads wait (pool.threads_max)", threads));
}

/// Returns the body of a job, which keeps the contract of Job::run.
std::function<void()> body_of(Job& job) {
  return [run = std::move(job.run), refused = job.refused, label = job.label] {
    try {
      run();
    } catch (const NodeKilled&) {
      throw;
    } catch (...) {
      const Error why = detail::failure_of_current_exception(label);
      refused ? refused(why) : spdlog::error("a job of the pool failed: {}", why.text());
    }
  };
}

}  // namespace

SimExecutor::SimExecutor(std::shared_ptr<Schedule> schedule, std::shared_ptr<BatonThreads> threads, NodeName node,
                         std::size_t threads_max)
    : schedule_(std::move(schedule)), threads_(std::move(threads)), node_(std::move(node)), threads_max_(threads_max) {
  schedule_->add(*this);
}

SimExecutor::~SimExecutor() { schedule_->remove(*this); }

std::optional<Error> SimExecutor::take(Job& job) {
  schedule_->require_baton(job.label);
  if (stopping_) return stopped();
  const bool at_once = job.urgency == Urgency::at_once;
  if (!at_once && !takes_short_ && all_wait()) return all_threads_wait(threads_max_);
  auto body = body_of(job);
  add({.label = std::move(job.label),
       .body = std::move(body),
       .refused = std::move(job.refused),
       .at_once = at_once,
       .is_short = takes_short_,
       .since = schedule_->now(),
       .thread = nullptr});
  return std::nullopt;
}

void SimExecutor::add(Function function) {
  functions_.push_back(std::move(function));
  schedule_->has_items(*this);
}

void SimExecutor::run_short(Job job) {
  const bool before = std::exchange(takes_short_, true);
  std::ignore = submit(std::move(job));
  takes_short_ = before;
}

void SimExecutor::begin_program(std::string label, std::function<void()> program) {
  if (!killed_)
    add({.label = std::move(label),
         .body = std::move(program),
         .refused = {},
         .is_job = false,
         .since = schedule_->now(),
         .thread = nullptr});
}

std::vector<RunningJob> SimExecutor::running() const { return running_but(nullptr); }

std::vector<RunningJob> SimExecutor::running_but(const Function* left_out) const {
  std::vector<RunningJob> jobs;
  for (const Function& function : functions_) {
    if (!function.is_job || !function.thread || &function == left_out) continue;
    // The caller holds the baton, so all others wait.
    jobs.push_back({function.label, schedule_->now() - function.since, true});
  }
  return jobs;
}

bool SimExecutor::idle(const Function* left_out) const {
  return std::none_of(functions_.begin(), functions_.end(),
                      [left_out](const Function& f) { return f.is_job && (f.thread || f.at_once) && &f != left_out; });
}

std::size_t SimExecutor::unfinished() const {
  return static_cast<std::size_t>(
      std::count_if(functions_.begin(), functions_.end(), [](const Function& f) { return f.is_job; }));
}

std::vector<RunningJob> SimExecutor::stop(TimePoint due) {
  stopping_ = true;
  if (killed_) return {};
  refuse(take_what_has_not_begun(), stopped());
  const Function* const caller = active_;
  if (!idle(caller) && due > schedule_->now()) {
    const auto drained = std::make_shared<detail::WaitPoint>();
    stops_.push_back({drained, caller});
    static_cast<void>(drained->wait(due));
  }
  return running_but(caller);
}

void SimExecutor::kill() {
  killed_ = true;
  stopping_ = true;
  Functions dropped;
  for (auto at = functions_.begin(); at != functions_.end();) {
    const auto current = at++;
    if (!current->thread) dropped.splice(dropped.end(), functions_, current);
  }
  refuse(dropped, stopped());
}

std::size_t SimExecutor::unwind() {
  std::size_t unwound = 0;
  for (; !functions_.empty(); ++unwound) {
    Function& function = functions_.back();
    function.thread->unwind();
    end(std::prev(functions_.end()));
  }
  return unwound;
}

std::size_t SimExecutor::ready() {
  ready_.clear();
  for (auto at = functions_.begin(); at != functions_.end(); ++at) {
    if (ready(*at)) ready_.push_back(at);
  }
  return ready_.size();
}

std::string_view SimExecutor::describe(std::size_t index) {
  const Function& function = *ready_[index];
  description_.assign(function.thread ? "resume " : "begin ").append(function.label);
  return description_;
}

void SimExecutor::run(std::size_t index) {
  const auto function = ready_[index];
  const bool begins = function->thread == nullptr;
  if (begins && !give_thread(function)) return;
  active_ = &*function;
  if (begins) {
    function->since = schedule_->now();
    function->thread->begin(node_ + ": " + function->label, std::move(function->body));
  } else {
    function->thread->go_on();
  }
  active_ = nullptr;
  function->thread->idle() ? end(function) : refuse_stranded();
}

bool SimExecutor::give_thread(Functions::iterator function) {
  try {
    function->thread = threads_->take();
  } catch (const std::system_error& error) {
    if (!function->refused) throw;
    Functions refused;
    refused.splice(refused.end(), functions_, function);
    refuse(refused, exhausted(fmt::format("all {} pool threads wait, and the system gives no more: {}", pool_threads_,
                                          error.code().message())));
    tell_if_drained();
    return false;
  }
  if (function->uses_pool()) ++pool_threads_;
  return true;
}

void SimExecutor::end(Functions::iterator function) {
  if (function->uses_pool()) --pool_threads_;
  threads_->give_back(std::move(function->thread));
  functions_.erase(function);
  tell_if_drained();
}

bool SimExecutor::ready(const Function& function) const {
  if (function.thread) return function.thread->may_go_on();
  return !function.uses_pool() || !is_full();
}

bool SimExecutor::all_wait() const {
  return is_full() && std::none_of(functions_.begin(), functions_.end(), [this](const Function& f) {
           return f.uses_pool() && f.thread && (&f == active_ || f.thread->may_go_on());
         });
}

void SimExecutor::refuse_stranded() {
  if (!all_wait()) return;
  Functions stranded;
  for (auto at = functions_.begin(); at != functions_.end();) {
    const auto current = at++;
    if (current->uses_pool() && !current->at_once && !current->thread && current->refused)
      stranded.splice(stranded.end(), functions_, current);
  }
  refuse(stranded, all_threads_wait(threads_max_));
}

std::optional<TimePoint> SimExecutor::next_due() {
  std::optional<TimePoint> next;
  for (const Function& function : functions_) {
    const auto due = function.thread ? function.thread->due() : std::nullopt;
    if (due && (!next || *due < *next)) next = due;
  }
  return next;
}

SimExecutor::Functions SimExecutor::take_what_has_not_begun() {
  Functions dropped;
  for (auto at = functions_.begin(); at != functions_.end();) {
    const auto current = at++;
    if (current->is_job && !current->at_once && !current->thread) dropped.splice(dropped.end(), functions_, current);
  }
  return dropped;
}

void SimExecutor::refuse(const Functions& functions, const Error& why) {
  for (const Function& function : functions) {
    if (function.refused) function.refused(why);
  }
}

void SimExecutor::tell_if_drained() {
  std::erase_if(stops_, [this](const Stop& stop) {
    if (!idle(stop.caller)) return false;
    stop.drained->signal();
    return true;
  });
}

}  // namespace troupe::sim
