#include "node/keys/member_file.h"

#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"

namespace troupe::detail {
namespace {

using std::chrono::days;
using std::chrono::sys_days;
using std::chrono::year;
using troupe::testing::TemporaryDirectory;

const sys_days kToday{year{2026} / 11 / 27};

struct Watched {
  Watched() { write(list, key); }

  /// Replaces the file, as `troupe keys` and Kubernetes do.
  void write(const MemberList& what, const SigningKey& by) const {
    std::ofstream(path + ".new") << what.signed_by(by);
    std::filesystem::rename(path + ".new", path);
  }
  [[nodiscard]] MemberList with_serial(std::uint64_t serial, const std::vector<NodeName>& names) const {
    MemberList changed{.cluster_id = list.cluster_id, .serial = serial, .members = {}};
    for (const NodeName& name : names) changed.members.push_back({name, {{static_cast<std::byte>(name[0])}}, {}});
    return changed;
  }
  static std::string names_in(const MemberFile::News& news) {
    std::string names = news.members ? "" : "none";
    for (const KeyRing::Member& member : news.members.value_or(std::vector<KeyRing::Member>{})) names += member.name;
    return names;
  }

  TemporaryDirectory directory;
  const std::string path = (directory.path() / "cluster.members").string();
  const SigningKey key = SigningKey::random();
  const MemberList list{.cluster_id = std::string(32, '0'),
                        .serial = 5,
                        .members = {{"a", {{std::byte{'a'}}}, {}}, {"b", {{std::byte{'b'}}}, kToday}}};
  const MemberFile::Paths paths{.list = path,
                                .kept = (directory.path() / "a.told").string(),
                                .key = (directory.path() / "a.key").string(),
                                .certificate = (directory.path() / "a.certificate").string()};
  MemberFile file{paths, key.verifying_key(), {path, list.signed_by(key), list}, kToday};
};

BOOST_AUTO_TEST_SUITE(member_file)

BOOST_AUTO_TEST_CASE(a_newer_list_is_taken_once) {
  Watched watched;
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "none");
  watched.write(watched.with_serial(6, {"a", "c"}), watched.key);
  const MemberFile::News news = watched.file.look(kToday);
  BOOST_TEST(Watched::names_in(news) == "ac");
  BOOST_TEST(news.line == watched.path + ": serial 6, 2 members");
  const MemberFile::News again = watched.file.look(kToday);
  BOOST_TEST(Watched::names_in(again) == "none");
  BOOST_TEST(again.line.empty());
}

BOOST_AUTO_TEST_CASE(a_list_that_is_older_forged_or_cut_changes_nothing_and_is_reported_once,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  Watched watched;
  const auto refused = [&](const std::string& why) {
    const MemberFile::News news = watched.file.look(kToday);
    BOOST_TEST(Watched::names_in(news) == "none");
    BOOST_TEST(news.line == watched.path + ": " + why + ": members stay those of serial 5");
    BOOST_TEST(news.refused);
    BOOST_TEST(watched.file.look(kToday).line.empty());
  };
  watched.write(watched.with_serial(4, {"a"}), watched.key);
  refused("has serial 4, this node knows 5");
  watched.write(watched.with_serial(6, {"a"}), SigningKey::random());
  refused("was not signed by the key of this cluster, or was changed since");
  MemberList other = watched.with_serial(7, {"a"});
  other.cluster_id = std::string(32, '1');
  watched.write(other, watched.key);
  refused("is of another cluster");
  std::ofstream(watched.path) << "troupe-members 1\n";
  refused("line 2: \"cluster\" is not there");
  std::filesystem::remove(watched.path);
  BOOST_TEST(watched.file.look(kToday).line.empty());
  watched.write(watched.with_serial(6, {"c"}), watched.key);
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "c");
}

BOOST_AUTO_TEST_CASE(a_second_list_with_a_serial_that_is_known_is_refused_and_reported,
                     *boost::unit_test::label("S11")) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());
  const std::string why =
      "is a second list with serial 5: an old one was changed, and whoever signs lists must make one with a higher "
      "serial";
  const MemberList second = watched.with_serial(5, {"a", "thief"});
  watched.write(second, watched.key);
  const MemberFile::News news = watched.file.look(kToday);
  BOOST_TEST(news.refused);
  BOOST_TEST(Watched::names_in(news) == "none");
  BOOST_TEST(news.line == watched.path + ": " + why + ": members stay those of serial 5");
  BOOST_TEST(watched.file.look(kToday).line.empty());

  const auto told = watched.file.take(second.signed_by(watched.key), kToday);
  BOOST_REQUIRE(told.ok());  // who tells of it has it from the owner
  BOOST_TEST(told.value().serial == 5U);
  BOOST_TEST(told.value().news.refused);
  BOOST_TEST(told.value().news.line == why);
  const auto same = watched.file.take(watched.list.signed_by(watched.key), kToday);
  BOOST_TEST(!same.value().news.refused);
  BOOST_TEST(watched.file.text() == watched.list.signed_by(watched.key));
}

BOOST_AUTO_TEST_CASE(a_list_that_cannot_be_read_is_read_once_it_can_be, *boost::unit_test::label("S11")) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());
  watched.write(watched.with_serial(6, {"a"}), watched.key);
  rlimit usual{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  rlimit none = usual;
  none.rlim_cur = 0;  // no file can be opened
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const MemberFile::News unread = watched.file.look(kToday);
  const MemberFile::News again = watched.file.look(kToday);
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &usual) == 0);
  BOOST_TEST(Watched::names_in(unread) == "none");
  BOOST_TEST(unread.line ==
             watched.path + ": Too many open files: members stay those of serial 5 until it can be read");
  BOOST_TEST(again.line.empty());
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "a");
  BOOST_TEST(watched.file.serial() == 6U);
}

BOOST_AUTO_TEST_CASE(each_reason_why_a_list_cannot_be_read_is_reported_once) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());
  const auto unread = [&](const std::string& why) {
    BOOST_TEST(watched.file.look(kToday).line ==
               watched.path + why + ": members stay those of serial 5 until it can be read");
    BOOST_TEST(watched.file.look(kToday).line.empty());
  };
  std::ofstream(watched.path).close();
  unread(" is empty");
  std::filesystem::remove(watched.path);
  std::filesystem::create_directory(watched.path);
  unread(" is no regular file");
  std::filesystem::remove(watched.path);
  watched.write(watched.with_serial(6, {"c"}), watched.key);
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "c");
  std::ofstream(watched.path).close();
  BOOST_TEST(watched.file.look(kToday).line.starts_with(watched.path + " is empty"));  // again: it was read meanwhile
}

BOOST_AUTO_TEST_CASE(a_list_that_stays_away_is_reported_once_each_time) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());
  const std::string aside = watched.path + ".aside";
  const std::filesystem::path list = watched.path;
  for (int time = 0; time < 2; ++time) {
    std::filesystem::rename(list, aside);
    BOOST_TEST(watched.file.look(kToday).line.empty());  // it may be on its way
    BOOST_TEST(watched.file.look(kToday).line ==
               watched.path + ": No such file or directory: members stay those of serial 5 until it can be read");
    BOOST_TEST(watched.file.look(kToday).line.empty());
    std::filesystem::rename(aside, list);
    BOOST_TEST(watched.file.look(kToday).line.empty());
  }
  std::filesystem::rename(list, aside);
  BOOST_TEST(watched.file.look(kToday).line.empty());
  watched.write(watched.with_serial(6, {"c"}), watched.key);
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "c");
}

BOOST_AUTO_TEST_CASE(a_list_of_the_same_size_and_age_is_read) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());
  watched.write(watched.with_serial(6, {"a", "b"}), watched.key);
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "ab");
  const auto size = std::filesystem::file_size(watched.path);
  const auto age = std::filesystem::last_write_time(watched.path);
  std::ofstream(watched.path) << watched.with_serial(7, {"a", "c"}).signed_by(watched.key);
  std::filesystem::last_write_time(watched.path, age);  // as copies that keep it do
  BOOST_TEST(std::filesystem::file_size(watched.path) == size);
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "ac");
}

std::uint64_t newest_serial(const Watched& watched) {
  return MemberFile::newest(watched.paths, watched.key.verifying_key()).value().list.serial;
}

BOOST_AUTO_TEST_CASE(a_list_that_was_told_counts_and_is_kept_for_the_next_start) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());  // the file is as it was read
  const std::string told = watched.with_serial(6, {"a", "c"}).signed_by(watched.key);
  const auto taken = watched.file.take(told, kToday);
  BOOST_REQUIRE(taken.ok());
  BOOST_TEST(taken.value().serial == 6U);
  BOOST_TEST(Watched::names_in(taken.value().news) == "ac");
  BOOST_TEST(taken.value().news.line == "serial 6, 2 members");
  BOOST_TEST(newest_serial(watched) == 5U);  // no file is touched by who takes it
  BOOST_TEST(watched.file.look(kToday).line.empty());
  BOOST_TEST(watched.file.serial() == 6U);
  BOOST_TEST(watched.file.text() == told);
  BOOST_TEST(watched.file.members(kToday).valid.size() == 2U);
  BOOST_TEST(newest_serial(watched) == 6U);
  const auto again = watched.file.take(told, kToday);
  BOOST_TEST(again.value().serial == 6U);
  BOOST_TEST(Watched::names_in(again.value().news) == "none");

  watched.write(watched.with_serial(7, {"a"}), watched.key);
  BOOST_TEST(newest_serial(watched) == 7U);
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "a");
  BOOST_TEST(watched.file.take(told, kToday).value().serial == 6U);
  BOOST_TEST(watched.file.serial() == 7U);
}

BOOST_AUTO_TEST_CASE(a_list_that_was_told_counts_also_where_it_cannot_be_kept) {
  Watched watched;
  BOOST_TEST(watched.file.look(kToday).line.empty());  // the file is as it was read
  std::filesystem::create_directories(watched.paths.kept + "/in the way");
  const auto taken = watched.file.take(watched.with_serial(6, {"c"}).signed_by(watched.key), kToday);
  BOOST_TEST(Watched::names_in(taken.value().news) == "c");
  BOOST_TEST(watched.file.look(kToday).line.starts_with("cannot replace " + watched.paths.kept));
  BOOST_TEST(watched.file.look(kToday).line.empty());
  BOOST_TEST(newest_serial(watched) == 5U);
}

BOOST_AUTO_TEST_CASE(a_list_that_is_told_and_not_signed_by_the_owner_changes_nothing,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  Watched watched;
  const auto refused = [&](const std::string& text, const std::string& why) {
    const auto taken = watched.file.take(text, kToday);
    BOOST_REQUIRE(!taken.ok());
    BOOST_TEST(taken.error().message == why + ": members stay those of serial 5");
    BOOST_TEST(watched.file.text() == watched.list.signed_by(watched.key));
    BOOST_TEST(!std::filesystem::exists(watched.paths.kept));
  };
  const MemberList newer = watched.with_serial(6, {"a", "thief"});
  refused(newer.signed_by(SigningKey::random()), "was not signed by the key of this cluster, or was changed since");
  std::string changed = newer.signed_by(watched.key);
  changed.replace(changed.find("serial 6"), 8, "serial 7");
  refused(changed, "was not signed by the key of this cluster, or was changed since");
  MemberList other = newer;
  other.cluster_id = std::string(32, '1');
  refused(other.signed_by(watched.key), "is of another cluster");
  refused(std::string(MemberList::kBytesMax + 1, 'x'), "has " + std::to_string(MemberList::kBytesMax + 1) +
                                                           " bytes, at most " + std::to_string(MemberList::kBytesMax));
  refused("", "line 1: \"troupe-members\" is not there");
}

BOOST_AUTO_TEST_CASE(a_kept_list_of_another_cluster_is_left_alone) {
  Watched watched;
  const auto keep = [&](const std::string& text) { std::ofstream(watched.paths.kept) << text; };
  keep(watched.with_serial(9, {"a"}).signed_by(SigningKey::random()));
  BOOST_TEST(newest_serial(watched) == 5U);
  MemberList other = watched.with_serial(9, {"a"});
  other.cluster_id = std::string(32, '1');
  keep(other.signed_by(watched.key));
  BOOST_TEST(newest_serial(watched) == 5U);
  keep(watched.with_serial(4, {"a"}).signed_by(watched.key));
  BOOST_TEST(newest_serial(watched) == 5U);
  keep(watched.with_serial(6, {"a"}).signed_by(watched.key));
  BOOST_TEST(newest_serial(watched) == 6U);
}

BOOST_AUTO_TEST_CASE(members_expire_while_the_file_stays) {
  Watched watched;
  BOOST_TEST(Watched::names_in(watched.file.look(kToday + days(1))) == "a");
  BOOST_TEST(Watched::names_in(watched.file.look(kToday + days(1))) == "none");
}

/// A certificate of `name`, whose key begins with the byte `key`.
std::string certificate_of(const Watched& watched, std::uint64_t serial, const NodeName& name, char key,
                           std::optional<sys_days> until = {}) {
  return Certificate{watched.list.cluster_id, serial, {name, {{static_cast<std::byte>(key)}}, until}}.signed_by(
      watched.key);
}

std::string members_of(const Watched& watched) {
  std::string names;
  for (const KeyRing::Member& member : watched.file.members(kToday).valid)
    names += member.name + static_cast<char>(member.key.bytes[0]);
  return names;
}

BOOST_AUTO_TEST_CASE(a_newcomer_that_is_certified_is_in_until_a_list_decides, *boost::unit_test::label("S11")) {
  Watched watched;
  const std::string text = certificate_of(watched, 6, "c", 'c');
  const auto certified = watched.file.certify(text, kToday);
  BOOST_REQUIRE(certified.ok());
  BOOST_TEST(certified.value().member.name == "c");
  BOOST_TEST(Watched::names_in(certified.value().news) == "abc");
  BOOST_TEST(members_of(watched) == "aabbcc");
  BOOST_TEST((watched.file.certificates(kToday) == std::vector<std::string>{text}));
  BOOST_TEST(watched.file.serial() == 5U);  // no list came
  BOOST_TEST(Watched::names_in(watched.file.certify(text, kToday).value().news) == "none");

  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 7, "d", 'd'), kToday).ok());
  BOOST_REQUIRE(watched.file.take(watched.with_serial(6, {"a", "b", "c"}).signed_by(watched.key), kToday).ok());
  BOOST_TEST(members_of(watched) == "aabbccdd");  // the list of serial 6 cannot know of d
  BOOST_TEST(watched.file.certificates(kToday).size() == 1U);
  BOOST_REQUIRE(watched.file.take(watched.with_serial(7, {"a", "b"}).signed_by(watched.key), kToday).ok());
  BOOST_TEST(members_of(watched) == "aabb");
  BOOST_TEST(watched.file.certificates(kToday).empty());
}

BOOST_AUTO_TEST_CASE(a_member_whose_new_key_is_certified_keeps_its_place) {
  Watched watched;
  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 6, "a", 'x'), kToday).ok());
  BOOST_TEST(members_of(watched) == "axbb");
  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 8, "a", 'y'), kToday).ok());
  BOOST_TEST(members_of(watched) == "aybb");
  BOOST_TEST(!watched.file.certify(certificate_of(watched, 6, "a", 'x'), kToday).ok());
  BOOST_TEST(members_of(watched) == "aybb");
}

BOOST_AUTO_TEST_CASE(a_newer_certificate_of_the_same_key_says_what_its_member_may_do) {
  Watched watched;
  const auto show = [&](std::uint64_t serial, const MemberList::Grants& grants) {
    const Certificate one{watched.list.cluster_id, serial, {"c", {{std::byte{'c'}}}, {}, grants}};
    BOOST_REQUIRE(watched.file.certify(one.signed_by(watched.key), kToday).ok());
    return watched.file.members(kToday).grants.at("c");
  };
  const MemberList::Grants eval{.calls = std::vector<std::string>{"eval"}, .owns = false};
  BOOST_TEST((show(6, {}) == MemberList::Grants{}));
  BOOST_TEST((show(7, eval) == eval));
  BOOST_TEST((show(6, {}) == eval));
}

BOOST_AUTO_TEST_CASE(a_certificate_that_has_expired_is_told_to_nobody) {
  Watched watched;
  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 6, "c", 'c', kToday), kToday).ok());
  const sys_days tomorrow = kToday + std::chrono::days{1};
  BOOST_TEST(watched.file.certificates(kToday).size() == 1U);
  BOOST_TEST(watched.file.certificates(tomorrow).empty());
  BOOST_TEST(Watched::names_in(watched.file.look(tomorrow)) == "a");
  BOOST_TEST(watched.file.certificates(tomorrow).empty());
}

BOOST_AUTO_TEST_CASE(what_a_certificate_replaced_does_not_count_again_when_it_has_expired,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  Watched watched;
  const sys_days tomorrow = kToday + days(1);
  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 6, "a", 'A', kToday), kToday).ok());
  const std::string former = certificate_of(watched, 6, "c", 'c');
  BOOST_REQUIRE(watched.file.certify(former, kToday).ok());
  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 7, "c", 'C', kToday), kToday).ok());
  BOOST_TEST(members_of(watched) == "aAbbcC");
  BOOST_TEST(Watched::names_in(watched.file.look(tomorrow)) == "");  // a: neither with the key that the list has
  const auto shown = watched.file.certify(former, tomorrow);
  BOOST_REQUIRE(!shown.ok());
  BOOST_TEST((shown.error().code == ErrorCode::not_authorized));
  BOOST_TEST(Watched::names_in(watched.file.look(kToday)) == "abc");  // the clock was ahead
  BOOST_TEST(members_of(watched) == "aAbbcC");
  BOOST_REQUIRE(watched.file.take(watched.with_serial(7, {"a"}).signed_by(watched.key), tomorrow).ok());
  BOOST_TEST(members_of(watched) == "aa");  // a list decides
}

BOOST_AUTO_TEST_CASE(a_certificate_that_does_not_count_changes_nothing_and_says_why,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S11")) {
  Watched watched;
  const auto refused = [&](const std::string& text, ErrorCode code, const std::string& why) {
    const auto certified = watched.file.certify(text, kToday);
    BOOST_REQUIRE(!certified.ok());
    BOOST_TEST((certified.error().code == code), why);
    BOOST_TEST(certified.error().message == why);
    BOOST_TEST(members_of(watched) == "aabb");
    BOOST_TEST(watched.file.certificates(kToday).empty());
  };
  using enum ErrorCode;
  refused("", bad_argument, "the certificate line 1: \"troupe-certificate\" is not there");
  Certificate forged{watched.list.cluster_id, 6, {"c", {{std::byte{'c'}}}}};
  refused(forged.signed_by(SigningKey::random()), bad_argument,
          "the certificate was not signed by the key of this cluster, or was changed since");
  forged.cluster_id = std::string(32, '1');
  refused(forged.signed_by(watched.key), not_authorized, "the certificate is of another cluster");
  refused(certificate_of(watched, 6, "c", 'c', kToday - std::chrono::days{1}), not_authorized,
          "the certificate of c has expired on 2026-11-26");
  refused(certificate_of(watched, 6, "c", 'b'), not_authorized, "the certificate gives c another member's key");
  for (const std::uint64_t serial : {1U, 5U}) {
    refused(certificate_of(watched, serial, "c", 'c'), not_authorized,
            "the certificate of c came with list " + std::to_string(serial) +
                ", and in list 5 it does not have that key any more");
  }
  BOOST_TEST(watched.file.certify(certificate_of(watched, 2, "a", 'a'), kToday).ok());  // the list has that key
}

/// A certificate of "n<number>".
std::string numbered(const Watched& watched, int number, sys_days until) {
  Certificate one{watched.list.cluster_id, 6, {"n" + std::to_string(number), {}}};
  one.member.until = until;
  one.member.key.bytes[1] = static_cast<std::byte>(number & 0xff);
  one.member.key.bytes[2] = static_cast<std::byte>(number >> 8);
  one.member.key.bytes[3] = std::byte{1};
  return one.signed_by(watched.key);
}

BOOST_AUTO_TEST_CASE(newcomers_that_no_list_has_are_a_limited_number, *boost::unit_test::label("attack")) {
  Watched watched;
  const auto certificate = [&](int number, sys_days until = kToday) { return numbered(watched, number, until); };
  for (int number = 0; number < 1024; ++number) BOOST_REQUIRE(watched.file.certify(certificate(number), kToday).ok());
  const auto one_more = watched.file.certify(certificate(1024), kToday);
  BOOST_REQUIRE(!one_more.ok());
  BOOST_TEST((one_more.error().code == ErrorCode::resource_exhausted));
  BOOST_TEST(one_more.error().message == "1024 newcomers are certified that no list has yet");
  BOOST_TEST(watched.file.certify(certificate(7), kToday).ok());
  const sys_days tomorrow = kToday + days(1);
  static_cast<void>(watched.file.look(tomorrow));
  BOOST_TEST(watched.file.certify(certificate(1024, tomorrow), tomorrow).ok());  // the others have expired
}

BOOST_AUTO_TEST_CASE(of_newcomers_whose_certificates_have_expired_the_last_are_remembered) {
  Watched watched;
  const auto certify = [&](int number, sys_days day) {
    BOOST_REQUIRE(watched.file.certify(numbered(watched, number, day), day).ok());
  };
  const auto is_known = [&](const NodeName& name) { return watched.file.members(kToday).grants.contains(name); };
  BOOST_REQUIRE(watched.file.certify(certificate_of(watched, 6, "a", 'A', kToday), kToday).ok());
  for (int number = 0; number < 1000; ++number) certify(number, kToday);
  for (int number = 1000; number < 2000; ++number) certify(number, kToday + days(1));
  BOOST_TEST(is_known("n0"));
  for (int number = 2000; number < 2024; ++number) certify(number, kToday + days(2));
  BOOST_TEST(watched.file.members(kToday).grants.size() == 2U + 24 + 1024);
  BOOST_TEST(is_known("n1000"));
  BOOST_TEST(watched.file.members(kToday + days(2)).valid.size() == 24U);  // not a: neither of its keys
}

BOOST_AUTO_TEST_CASE(a_node_shows_the_certificate_of_the_key_that_its_list_has) {
  Watched watched;
  const auto shown = [&](const std::string& text) {
    std::ofstream(watched.paths.certificate) << text;
    return watched.file.own_certificate();
  };
  BOOST_TEST(watched.file.own_certificate().error().hint == "`troupe keys` writes it beside the node's key");
  BOOST_TEST(!watched.file.has_certificate());
  const std::string right = certificate_of(watched, 5, "a", 'a');
  BOOST_TEST(shown(right).value() == right);
  BOOST_TEST(watched.file.has_certificate());
  BOOST_TEST(shown(certificate_of(watched, 4, "a", 'x')).error().message ==
             watched.paths.certificate + ": is not of the key that " + watched.path + " has of a");
  BOOST_TEST(shown("troupe-members 1\n").error().message ==
             watched.paths.certificate + ": line 1: \"troupe-certificate\" is not there");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe::detail
