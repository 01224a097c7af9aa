#include "node/sim/sim_executor.h"

#include <algorithm>
#include <utility>

#include "actors/core/error_not_run.h"

namespace troupe::sim {
namespace {

Error stopped() { return detail::error_not_run(ErrorCode::shutting_down, "the pool is stopped"); }

}  // namespace

SimExecutor::SimExecutor(std::shared_ptr<Schedule> schedule, std::shared_ptr<BatonThreads> threads, NodeName node)
    : schedule_(std::move(schedule)), threads_(std::move(threads)), node_(std::move(node)) {
  schedule_->add(*this);
}

SimExecutor::~SimExecutor() { schedule_->remove(*this); }

std::optional<Error> SimExecutor::take(Job& job) {
  schedule_->require_baton(job.label);
  if (stopping_) return stopped();
  functions_.push_back({std::move(job.label), std::move(job.run), std::move(job.refused), true,
                        job.urgency == Urgency::at_once, schedule_->now(), nullptr});
  return std::nullopt;
}

void SimExecutor::begin_program(std::string label, std::function<void()> program) {
  if (!killed_)
    functions_.push_back({std::move(label), std::move(program), {}, false, false, schedule_->now(), nullptr});
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
  refuse(take_what_has_not_begun());
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
  refuse(dropped);
}

std::size_t SimExecutor::unwind() {
  std::size_t unwound = 0;
  for (; !functions_.empty(); ++unwound) {
    Function& function = functions_.back();
    function.thread->unwind();
    threads_->give_back(std::move(function.thread));
    functions_.pop_back();
  }
  tell_if_drained();
  return unwound;
}

std::size_t SimExecutor::ready() {
  ready_.clear();
  for (auto at = functions_.begin(); at != functions_.end(); ++at) {
    if (at->ready()) ready_.push_back(at);
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
  active_ = &*function;
  if (function->thread) {
    function->thread->go_on();
  } else {
    function->thread = threads_->take();
    function->since = schedule_->now();
    function->thread->begin(node_ + ": " + function->label, std::move(function->body));
  }
  active_ = nullptr;
  if (!function->thread->idle()) return;
  threads_->give_back(std::move(function->thread));
  functions_.erase(function);
  tell_if_drained();
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

void SimExecutor::refuse(const Functions& functions) {
  for (const Function& function : functions) {
    if (function.refused) function.refused(stopped());
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
