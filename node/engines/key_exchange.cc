#include "node/engines/key_exchange.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace troupe::detail {
namespace {

constexpr const char* kRunFile = "run";
constexpr std::size_t kNamedMax = 16;  // ranks in an error
constexpr Duration kFirstPause = std::chrono::milliseconds{10};
constexpr Duration kLongestPause = std::chrono::milliseconds{500};

std::string key_file(std::size_t rank) { return fmt::format("{}.key", rank); }
std::string done_file(std::size_t rank) { return fmt::format("{}.done", rank); }

/// Returns "rank 1 (trainer0)" or "ranks 1, 2 (trainer0, trainer1)".
std::string ranks_text(const std::set<std::size_t>& ranks, const std::vector<std::string>& names) {
  std::vector<std::size_t> shown;
  std::vector<std::string> shown_names;
  for (const std::size_t rank : ranks) {
    if (shown.size() == kNamedMax) break;
    shown.push_back(rank);
    shown_names.push_back(names[rank]);
  }
  const std::string more =
      ranks.size() > shown.size() ? fmt::format(" and {} more", ranks.size() - shown.size()) : std::string();
  return fmt::format("rank{} {} ({}){}", ranks.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                     fmt::join(shown_names, ", "), more);
}

}  // namespace

KeyExchange::KeyExchange(ExchangeRequest request)
    : request_(std::move(request)), keys_(KeyPair::random()), directory_(request_.directory), files_(request_.proof) {
  for (std::size_t rank = 0; rank < request_.names.size(); ++rank) {
    if (rank != request_.rank) silent_.insert(rank);
  }
  if (request_.rank == 0) say_own_key();
}

std::optional<ExchangedRun> KeyExchange::step() {
  const std::set<std::string> there = directory_.names();
  if (request_.rank == 0) {
    if (!run_) {
      hear(there);
      if (!silent_.empty()) return std::nullopt;
      publish();
    } else {
      hear_ends(there);
    }
    if (!silent_.empty()) return std::nullopt;
    directory_.remove();
    return taken(*run_);
  }
  answer(there);
  const std::optional<RunRecord> run = own_run(there);
  if (!run) return std::nullopt;
  ExchangedRun result = taken(*run);
  directory_.rename(key_file(request_.rank), done_file(request_.rank));
  return result;
}

std::string KeyExchange::awaited(std::string_view limits) const {
  std::string text;
  if (run_) {
    text = fmt::format("{} did not take the keys of all", ranks_text(silent_, request_.names));
  } else if (silent_.empty()) {
    text = fmt::format("nothing more from rank 0 ({}), although all are there", request_.names.front());
  } else {
    text = fmt::format("nothing from {}", ranks_text(silent_, request_.names));
  }
  text += limits;
  std::size_t named = 0;
  for (const auto& [rank, why] : wrong_) {
    if (named++ < kNamedMax) text += fmt::format("; {}", why);
  }
  return text;
}

void KeyExchange::say_own_key() {
  const TaskRecord record{.job = request_.job,
                          .rank = request_.rank,
                          .name = request_.names[request_.rank],
                          .host = request_.host,
                          .key = keys_.public_key(),
                          .answers = answered_};
  directory_.write(key_file(request_.rank), files_.content_of(text_of(record)));
}

/// Answers the key of rank 0, also one that replaces another: that was of an earlier life. Which of the two a key is
/// cannot be told here, so nothing else of its record counts.
void KeyExchange::answer(const std::set<std::string>& there) {
  for (std::size_t rank = 1; rank < request_.names.size(); ++rank) {
    if (there.contains(key_file(rank)) || there.contains(done_file(rank))) silent_.erase(rank);
  }
  if (!there.contains(key_file(0))) return;
  const auto first = record_in(key_file(0), 0);
  if (!first) return;
  silent_.erase(0);
  wrong_.erase(0);
  if (answered_ == first->key) return;
  answered_ = first->key;
  say_own_key();
}

/// Takes the records that answer this life of rank 0.
void KeyExchange::hear(const std::set<std::string>& there) {
  const std::set<std::size_t> awaited = silent_;
  for (const std::size_t rank : awaited) {
    if (!there.contains(key_file(rank))) continue;
    auto record = record_in(key_file(rank), rank);
    if (!record) continue;
    if (record->answers != keys_.public_key()) {
      wrong_[rank] = fmt::format("{} is of an earlier life of the job", key_file(rank));
      continue;
    }
    check(*record, key_file(rank), rank);
    heard_.emplace(rank, *std::move(record));
    silent_.erase(rank);
    wrong_.erase(rank);
  }
}

void KeyExchange::publish() {
  std::set<std::string> hosts;
  for (const auto& [rank, record] : heard_) {
    if (record.host != request_.host) hosts.insert(record.host);
  }
  RunRecord run{.job = request_.job,
                .cluster_id = request_.cluster_id,
                .seed = request_.listen({hosts.begin(), hosts.end()}),
                .members = {}};
  secret_.emplace(SealedSecret::kSecretBytes);
  randombytes_buf(secret_->bytes().data(), SealedSecret::kSecretBytes);
  const std::span<const std::byte, SealedSecret::kSecretBytes> secret(secret_->bytes().data(),
                                                                      SealedSecret::kSecretBytes);
  for (std::size_t rank = 0; rank < request_.names.size(); ++rank) {
    const PublicKey key = rank == 0 ? keys_.public_key() : heard_.at(rank).key;
    run.members.push_back({request_.names[rank], key, seal(secret, keys_, key)});
    if (rank > 0) silent_.insert(rank);
  }
  (void)taken(run);  // keys that occur twice are refused here
  directory_.write(kRunFile, files_.content_of(text_of(run)));
  run_ = std::move(run);
}

/// Waits until each member has taken the run: then nobody needs the directory.
void KeyExchange::hear_ends(const std::set<std::string>& there) {
  const std::set<std::size_t> awaited = silent_;
  for (const std::size_t rank : awaited) {
    if (!there.contains(done_file(rank))) continue;
    const auto record = record_in(done_file(rank), rank);
    if (record && *record == heard_.at(rank)) silent_.erase(rank);
  }
}

/// Returns the run that this life of this task is in.
std::optional<RunRecord> KeyExchange::own_run(const std::set<std::string>& there) {
  if (!there.contains(kRunFile)) return std::nullopt;
  auto content = directory_.read(kRunFile, RunRecord::bytes_max(request_.names.size()) + ProvedFiles::kBytesMax);
  if (!content) return std::nullopt;
  try {
    RunRecord run = parse_run(files_.text_in(kRunFile, *std::move(content)), request_.names.size());
    if (run.job == request_.job && run.members.size() == request_.names.size() &&
        run.members[request_.rank].key == keys_.public_key()) {
      wrong_.erase(0);
      return run;
    }
    wrong_[0] = fmt::format("{} is of an earlier life of the job", kRunFile);
  } catch (const std::invalid_argument& error) {
    wrong_[0] = fmt::format("{}: {}", kRunFile, error.what());
  }
  return std::nullopt;
}

/// Returns nullopt if the file is not there, or is no record: then it may be replaced.
std::optional<TaskRecord> KeyExchange::record_in(const std::string& file, std::size_t rank) {
  auto content = directory_.read(file, TaskRecord::kBytesMax + ProvedFiles::kBytesMax);
  if (!content) return std::nullopt;
  try {
    return parse_task(files_.text_in(file, *std::move(content)));
  } catch (const std::invalid_argument& error) {
    wrong_[rank] = fmt::format("{}: {}", file, error.what());
    return std::nullopt;
  }
}

/// Throws ExchangeError for a record of this life that contradicts what this task knows.
void KeyExchange::check(const TaskRecord& record, const std::string& file, std::size_t rank) const {
  const std::string place = (directory_.path() / file).string();
  if (record.job != request_.job) {
    throw ExchangeError(fmt::format("{} is of job {}, this one is {}", place, record.job, request_.job));
  }
  if (record.rank != rank) throw ExchangeError(fmt::format("{} says that it is of rank {}", place, record.rank));
  if (record.name == request_.names[rank]) return;
  throw ExchangeError(fmt::format(
      "rank {} on host {} takes itself for {}, here it is {}: the cluster file must be the same on all hosts", rank,
      record.host, record.name, request_.names[rank]));
}

ExchangedRun KeyExchange::taken(const RunRecord& run) const {
  std::vector<KeyRing::Member> members;
  for (std::size_t rank = 0; rank < run.members.size(); ++rank) {
    const RunRecord::Member& member = run.members[rank];
    if (member.name != request_.names[rank]) {
      throw ExchangeError(
          fmt::format("rank 0 calls rank {} {}, here it is {}: the cluster file must be the same on all hosts", rank,
                      member.name, request_.names[rank]));
    }
    members.push_back({member.name, member.key});
  }
  auto keys = KeyRing::from_members(keys_, std::move(members));
  if (!keys) throw ExchangeError(keys.error().message);
  auto secret = unseal(run.members[request_.rank].secret, keys_, run.members.front().key);
  if (!secret) throw ExchangeError("rank 0 has not sealed the cluster's secret for this task");
  return {std::move(keys).value(), *std::move(secret), run.cluster_id, run.seed};
}

ExchangedRun finish(KeyExchange& exchange, const ExchangeWaiting& waiting) {
  const TimePoint due = waiting.now() + waiting.patience;
  for (Duration pause = kFirstPause;; pause = std::min(pause * 3 / 2, kLongestPause)) {
    if (auto result = exchange.step()) return *std::move(result);
    const TimePoint now = waiting.now();
    if (now >= due) {
      const auto seconds = std::chrono::duration<double>(waiting.patience).count();
      throw ExchangeError(exchange.awaited(
          fmt::format(" within {} s (cluster.join_timeout) in {}, which all tasks must see: --job-dir says where it is",
                      seconds, exchange.directory().string())));
    }
    waiting.pause(std::min(pause, due - now));
  }
}

}  // namespace troupe::detail
