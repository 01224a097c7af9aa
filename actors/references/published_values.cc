#include "actors/references/published_values.h"

#include <algorithm>

#include <fmt/format.h>

namespace troupe::detail {
namespace {

Error bad_name(std::string message) {
  Error error;
  error.code = ErrorCode::bad_argument;
  error.message = std::move(message);
  error.execution = Execution::never;
  return error;
}

Error other_type(const std::string& name, const std::string& published, const std::string& wanted) {
  return bad_name(fmt::format("the value published as \"{}\" is of type {}, not {}", name, published, wanted));
}

}  // namespace

std::optional<Error> PublishedValues::publish(const std::string& name, Value value) {
  if (name.empty()) return bad_name("a value is published under a name: it is empty");
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return stopped_;
    Entry& entry = entries_[name];
    if (entry.value) return bad_name(fmt::format("a value is published as \"{}\" already", name));
    if (entry.maker) return bad_name(fmt::format("the value of \"{}\" is being made by node_local", name));
    entry.value = std::move(value);
    answers = answers_of(name, entry);
  }
  give(std::move(answers));
  return std::nullopt;
}

std::uint64_t PublishedValues::find(const std::string& name, std::string type, Answer answer) {
  return request(name, {.type = std::move(type), .makes = false, .answer = std::move(answer)});
}

std::uint64_t PublishedValues::make(const std::string& name, std::string type, Answer answer) {
  return request(name, {.type = std::move(type), .makes = true, .answer = std::move(answer)});
}

std::uint64_t PublishedValues::request(const std::string& name, Waiting waiting) {
  std::optional<Result<Handle>> now;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = waiting.number = ++last_;
    Entry* entry = nullptr;
    if (name.empty()) {
      now = bad_name("the name of a published value is empty");
    } else if (stopped_) {
      now = *stopped_;
    } else if (entry = &entries_[name]; entry->value) {
      now = entry->value->type == waiting.type ? Result<Handle>(entry->value->handle)
                                               : other_type(name, entry->value->type, waiting.type);
    } else if (waiting.makes && entry->maker == std::this_thread::get_id()) {
      now = bad_name(fmt::format("the value of \"{}\" is needed while this thread makes it", name));
    } else if (waiting.makes && !entry->maker) {
      entry->maker = std::thread::id();
      now = Handle();
    } else {
      entry->waiting.push_back(std::move(waiting));
    }
  }
  if (now) waiting.answer(*std::move(now));
  return number;
}

void PublishedValues::begin_making(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (!stopped_) entries_[name].maker = std::this_thread::get_id();
}

void PublishedValues::made(const std::string& name, Value value) {
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    Entry& entry = entries_[name];
    entry.maker.reset();
    entry.value = std::move(value);
    answers = answers_of(name, entry);
  }
  give(std::move(answers));
}

void PublishedValues::give_up(const std::string& name) {
  Answers answers;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    Entry& entry = entries_[name];
    const auto next = std::ranges::find_if(entry.waiting, &Waiting::makes);
    if (next == entry.waiting.end()) {
      entry.maker.reset();
      forget_if_free(name);
      return;
    }
    entry.maker = std::thread::id();
    answers.emplace_back(std::move(next->answer), Handle());
    entry.waiting.erase(next);
  }
  give(std::move(answers));
}

bool PublishedValues::withdraw(std::uint64_t request) {
  Answer dropped;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  for (auto& [name, entry] : entries_) {
    const auto at = std::ranges::find(entry.waiting, request, &Waiting::number);
    if (at == entry.waiting.end()) continue;
    dropped = std::move(at->answer);
    entry.waiting.erase(at);
    forget_if_free(std::string(name));
    return true;
  }
  return false;
}

bool PublishedValues::unpublish(const std::string& name) {
  std::optional<Value> released;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(name);
  if (at == entries_.end() || !at->second.value) return false;
  released = std::move(at->second.value);
  entries_.erase(at);
  return true;
}

void PublishedValues::stop(const Error& why) {
  std::map<std::string, Entry> ended;
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) stopped_ = why;
    ended.swap(entries_);
  }
  for (auto& [name, entry] : ended) {
    for (Waiting& waiting : entry.waiting) waiting.answer(why);
  }
}

std::vector<std::string> PublishedValues::names() const {
  std::vector<std::string> names;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : entries_) {
    if (entry.value) names.push_back(name);
  }
  return names;
}

PublishedValues::Answers PublishedValues::answers_of(const std::string& name, Entry& entry) {
  Answers answers;
  for (Waiting& waiting : entry.waiting) {
    answers.emplace_back(std::move(waiting.answer), waiting.type == entry.value->type
                                                        ? Result<Handle>(entry.value->handle)
                                                        : other_type(name, entry.value->type, waiting.type));
  }
  entry.waiting.clear();
  return answers;
}

/// REQUIRES: the mutex is held.
void PublishedValues::forget_if_free(const std::string& name) {
  const auto at = entries_.find(name);
  if (!at->second.value && !at->second.maker && at->second.waiting.empty()) entries_.erase(at);
}

void PublishedValues::give(Answers answers) {
  for (auto& [answer, result] : answers) answer(std::move(result));
}

}  // namespace troupe::detail
