#include "node/keys/member_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "node/keys/trusted_file.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kCertificatesMax = 1024;
constexpr std::size_t kExpiredMax = 1024;

std::string second_list_text(std::uint64_t serial) {
  return fmt::format(
      "is a second list with serial {}: an old one was changed, and whoever signs lists must make one with a higher "
      "serial",
      serial);
}

Error refused(ErrorCode code, std::string message) {
  return Error{.code = code, .message = std::move(message), .execution = Execution::never};
}

}  // namespace

MemberFile::MemberFile(Paths paths, const VerifyingKey& key, Content content, std::chrono::system_clock::time_point now)
    : paths_(std::move(paths)),
      key_(key),
      cluster_id_(content.list.cluster_id),
      day_(std::chrono::floor<std::chrono::days>(now)),
      known_(std::move(content)) {}

Result<MemberFile::Content> MemberFile::newest(const Paths& paths, const VerifyingKey& key) {
  Result<std::string> text = read_public_file(paths.list, MemberList::kBytesMax);
  if (!text.ok()) return text.error();
  Content found;
  try {
    found = {paths.list, text.value(), MemberList::parse(text.value(), key)};
  } catch (const std::invalid_argument& error) {
    return Error{.code = ErrorCode::bad_argument,
                 .message = fmt::format("{}: {}", paths.list, error.what()),
                 .execution = Execution::never};
  }
  Result<std::string> kept = read_public_file(paths.kept, MemberList::kBytesMax);
  if (!kept.ok()) return found;
  try {
    MemberList list = MemberList::parse(kept.value(), key);
    if (list.cluster_id != found.list.cluster_id || list.serial <= found.list.serial) return found;
    return Content{paths.kept, std::move(kept).value(), std::move(list)};
  } catch (const std::invalid_argument&) {  // of a cluster that had this node before
    return found;
  }
}

std::uint64_t MemberFile::serial() const {
  const std::lock_guard lock(mutex_);
  return known_.list.serial;
}

std::string MemberFile::text() const {
  const std::lock_guard lock(mutex_);
  return known_.text;
}

std::uint64_t MemberFile::version() const {
  const std::lock_guard lock(mutex_);
  return version_;
}

MemberFile::Members MemberFile::members(std::chrono::system_clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  MemberList all = known_.list;
  std::set<std::string_view> listed;  // names of certificates
  for (MemberList::Member& member : all.members) {
    const auto shown = certificates_.find(member.name);
    if (shown == certificates_.end()) continue;
    listed.insert(shown->first);
    member = shown->second.certificate.member;
  }
  for (const auto& [name, shown] : certificates_) {
    if (!listed.contains(name)) all.members.push_back(shown.certificate.member);
  }
  Members members{version_, all.serial, valid_members(all, now), {}};
  for (const MemberList::Member& member : all.members) members.grants.emplace(member.name, member.grants);
  return members;
}

/// Throws std::invalid_argument for a list that is too large, not right, not signed, or of another cluster.
MemberList MemberFile::parse(std::string_view text) const {
  if (text.size() > MemberList::kBytesMax) {
    throw std::invalid_argument(fmt::format("has {} bytes, at most {}", text.size(), MemberList::kBytesMax));
  }
  MemberList list = MemberList::parse(text, key_);
  if (list.cluster_id != cluster_id_) throw std::invalid_argument("is of another cluster");
  return list;
}

/// Returns whether this node goes by another list with the serial of `list`.
bool MemberFile::is_second(const MemberList& list, std::string_view text) const {
  const std::lock_guard lock(mutex_);
  return list.serial == known_.list.serial && text != known_.text;
}

/// Returns whether `newer` is that, and goes by it then.
bool MemberFile::replace(Content newer) {
  const std::lock_guard lock(mutex_);
  if (newer.list.serial <= known_.list.serial) return false;
  is_kept_ = newer.path != paths_.kept;
  known_ = std::move(newer);
  std::erase_if(certificates_, [&](const auto& each) { return each.second.certificate.serial <= known_.list.serial; });
  ++version_;
  return true;
}

Result<MemberFile::Taken> MemberFile::take(std::string_view text, std::chrono::system_clock::time_point now) {
  try {
    MemberList given = parse(text);
    Taken taken{.serial = given.serial, .news = {}};
    if (is_second(given, text)) taken.news = {.members = {}, .line = second_list_text(given.serial), .refused = true};
    if (given.serial <= serial()) return taken;
    const std::size_t count = given.members.size();
    if (!replace({paths_.kept, std::string(text), std::move(given)})) return taken;
    taken.news = {members(now).valid, fmt::format("serial {}, {} members", taken.serial, count)};
    return taken;
  } catch (const std::invalid_argument& error) {
    return Error{.code = ErrorCode::bad_argument,
                 .message = fmt::format("{}: members stay those of serial {}", error.what(), serial())};
  }
}

/// Returns the certificate of that text if it was shown before. To verify a signature takes far longer, and each member
/// that comes up shows all that it knows.
std::optional<Certificate> MemberFile::shown_as(std::string_view text) const {
  const std::lock_guard lock(mutex_);
  const auto known =
      std::ranges::find(certificates_, text, [](const auto& named) { return std::string_view(named.second.text); });
  return known == certificates_.end() ? std::nullopt : std::optional(known->second.certificate);
}

Result<MemberFile::Certified> MemberFile::certify(std::string_view text, std::chrono::system_clock::time_point now) {
  std::optional<Certificate> shown = shown_as(text);
  try {
    if (!shown) shown = Certificate::parse(text, key_);
  } catch (const std::invalid_argument& error) {
    return refused(ErrorCode::bad_argument, fmt::format("the certificate {}", error.what()));
  }
  Certificate& certificate = *shown;
  const MemberList::Member member = certificate.member;
  {
    const std::lock_guard lock(mutex_);
    if (auto error = refusal_of(certificate, now)) return std::move(*error);
    const MemberList::Member* known = known_as(member.name);
    const bool says_more = certificate.serial > serial_of(member.name) && (known == nullptr || *known != member);
    if (!says_more) return Certified{member, {}};
    certificates_.insert_or_assign(member.name, Shown{std::move(certificate), std::string(text)});
    forget_expired(now);
    ++version_;
  }
  return Certified{member, {members(now).valid, fmt::format("{} is certified", member.name)}};
}

bool MemberFile::has_certificate() const {
  std::error_code ignored;
  return std::filesystem::exists(paths_.certificate, ignored);
}

Result<std::string> MemberFile::own_certificate() const {
  Result<std::string> text = read_public_file(paths_.certificate, Certificate::kBytesMax);
  if (!text.ok()) {
    Error error = text.error();
    error.hint = "`troupe keys` writes it beside the node's key";
    return error;
  }
  try {
    const Certificate certificate = Certificate::parse(text.value(), key_);
    const std::lock_guard lock(mutex_);
    const MemberList::Member* listed = known_.list.find(certificate.member.name);
    if (certificate.cluster_id != cluster_id_ || listed == nullptr || listed->key != certificate.member.key)
      throw std::invalid_argument(
          fmt::format("is not of the key that {} has of {}", known_.path, certificate.member.name));
    return text;
  } catch (const std::invalid_argument& error) {
    return refused(ErrorCode::bad_argument, fmt::format("{}: {}", paths_.certificate, error.what()));
  }
}

std::vector<std::string> MemberFile::certificates(std::chrono::system_clock::time_point now) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> texts;
  for (const auto& [name, shown] : certificates_) {
    if (!shown.certificate.member.has_expired(now)) texts.push_back(shown.text);
  }
  return texts;
}

/// Returns what counts of that member; null if there is none. REQUIRES: mutex_ is held, as for the following.
const MemberList::Member* MemberFile::known_as(const NodeName& name) const {
  const auto certified = certificates_.find(name);
  return certified != certificates_.end() ? &certified->second.certificate.member : known_.list.find(name);
}

/// Returns the serial of what counts of that name.
std::uint64_t MemberFile::serial_of(const NodeName& name) const {
  const auto certified = certificates_.find(name);
  return certified != certificates_.end() ? certified->second.certificate.serial : known_.list.serial;
}

/// Forgets the first of too many expired certificates of names that the list does not have.
void MemberFile::forget_expired(std::chrono::system_clock::time_point now) {
  using Certificates = decltype(certificates_);
  std::vector<Certificates::iterator> expired;
  for (auto at = certificates_.begin(); at != certificates_.end(); ++at) {
    if (at->second.certificate.member.has_expired(now)) expired.push_back(at);
  }
  if (expired.size() <= kExpiredMax) return;
  std::set<std::string_view> listed;
  for (const MemberList::Member& member : known_.list.members) listed.insert(member.name);
  std::erase_if(expired, [&](const auto& at) { return listed.contains(at->first); });
  if (expired.size() <= kExpiredMax) return;
  std::ranges::sort(expired, {}, [](const auto& at) { return at->second.certificate.member.until; });
  expired.resize(expired.size() - kExpiredMax);
  for (const auto& at : expired) certificates_.erase(at);
}

bool MemberFile::lets_in(const MemberList::Member& member) const {
  const MemberList::Member* known = known_as(member.name);
  return known != nullptr && known->key == member.key;
}

std::optional<Error> MemberFile::refusal_of(const Certificate& certificate,
                                            std::chrono::system_clock::time_point now) const {
  using enum ErrorCode;
  const MemberList::Member& member = certificate.member;
  if (certificate.cluster_id != cluster_id_) return refused(not_authorized, "the certificate is of another cluster");
  if (member.has_expired(now)) {
    return refused(not_authorized,
                   fmt::format("the certificate of {} has expired on {}", member.name, date_text(*member.until)));
  }
  if (lets_in(member)) return std::nullopt;
  const std::uint64_t known = serial_of(member.name);
  if (certificate.serial <= known) {
    return refused(not_authorized, fmt::format("the certificate of {} came with list {}, and in list {} it does not "
                                               "have that key any more",
                                               member.name, certificate.serial, known));
  }
  const auto has_its_key = [&](const MemberList::Member& other) {
    return other.key == member.key && other.name != member.name;
  };
  const auto other_certificate = [&](const auto& each) { return has_its_key(each.second.certificate.member); };
  if (std::ranges::any_of(known_.list.members, has_its_key) || std::ranges::any_of(certificates_, other_certificate))
    return refused(not_authorized, fmt::format("the certificate gives {} another member's key", member.name));
  // Expired ones only say which older keys of their names do not count.
  const auto is_valid = [&](const auto& each) { return !each.second.certificate.member.has_expired(now); };
  const auto valid = static_cast<std::size_t>(std::ranges::count_if(certificates_, is_valid));
  if (!certificates_.contains(member.name) && valid >= kCertificatesMax)
    return refused(resource_exhausted, fmt::format("{} newcomers are certified that no list has yet", valid));
  return std::nullopt;
}

MemberFile::News MemberFile::look(std::chrono::system_clock::time_point now) {
  const std::unique_lock files(files_mutex_, std::try_to_lock);
  if (!files) return {};
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const bool is_another_day = std::exchange(day_, day) != day;
  const std::uint64_t known = serial();
  News news{.members = {}, .line = keep()};
  if (News of_file = read_if_changed(); !of_file.line.empty()) news = std::move(of_file);
  if (is_another_day || serial() != known) news.members = members(now).valid;
  return news;
}

/// Returns why the list that was told last is not kept; empty if it is. It is not tried again.
std::string MemberFile::keep() {
  std::string text;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_kept_, true)) return {};
    text = known_.text;
  }
  const auto written = write_public_file(paths_.kept, text);
  return written.ok() ? "" : written.error().message + ": after a restart the node does not know the received list";
}

std::vector<KeyRing::Member> MemberFile::valid_members(const MemberList& list,
                                                       std::chrono::system_clock::time_point now) {
  std::vector<KeyRing::Member> valid;
  for (const MemberList::Member& member : list.members) {
    if (!member.has_expired(now)) valid.push_back({member.name, member.key});
  }
  return valid;
}

/// A file that is gone may be about to be replaced: it is reported if it is not there the next time, either.
MemberFile::News MemberFile::read_if_changed() {
  struct stat status {};
  if (::stat(paths_.list.c_str(), &status) != 0) {
    const int error = errno;
    if (error == ENOENT && !std::exchange(was_gone_, true)) return {};
    return unread(fmt::format("{}: {}", paths_.list, std::generic_category().message(error)));
  }
  was_gone_ = false;
  const auto is_same = [](const timespec& a, const timespec& b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
  };
  if (status.st_ino == seen_.st_ino && status.st_dev == seen_.st_dev && status.st_size == seen_.st_size &&
      is_same(status.st_mtim, seen_.st_mtim) && is_same(status.st_ctim, seen_.st_ctim)) {
    unread_.clear();  // as it was read, and there again
    return {};
  }
  const Result<std::string> text = read_public_file(paths_.list, MemberList::kBytesMax);
  if (!text.ok()) return unread(text.error().message);
  seen_ = status;  // only now: what could not be read may take a member out, and is tried again
  unread_.clear();
  return take_newer(text.value());
}

/// Returns no line if it was reported.
MemberFile::News MemberFile::unread(std::string why) {
  if (why == unread_) return {};
  unread_ = std::move(why);
  return {.members = {},
          .line = fmt::format("{}: members stay those of serial {} until it can be read", unread_, serial())};
}

/// Takes the list if it is newer; the members are not in what is returned.
MemberFile::News MemberFile::take_newer(const std::string& text) {
  try {
    MemberList read = parse(text);
    const std::uint64_t known = serial();
    if (is_second(read, text)) throw std::invalid_argument(second_list_text(read.serial));
    if (read.serial == known) return {};
    if (read.serial < known) {
      throw std::invalid_argument(fmt::format("has serial {}, this node knows {}", read.serial, known));
    }
    const std::string line = fmt::format("{}: serial {}, {} members", paths_.list, read.serial, read.members.size());
    return {.members = {}, .line = replace({paths_.list, text, std::move(read)}) ? line : ""};
  } catch (const std::invalid_argument& error) {
    return {.members = {},
            .line = fmt::format("{}: {}: members stay those of serial {}", paths_.list, error.what(), serial()),
            .refused = true};
  }
}

}  // namespace troupe::detail
