#include "node/keys/key_directory.h"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "node/keys/certificate.h"
#include "node/keys/signing.h"
#include "tests/support/temporary_directory.h"

namespace troupe {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const KeysError& error) {
    return error.what();
  }
  return {};
}

struct Keys {
  [[nodiscard]] std::string path() const { return (directory.path() / "keys").string(); }
  TemporaryDirectory directory;
};

BOOST_AUTO_TEST_SUITE(key_directory)

BOOST_AUTO_TEST_CASE(a_new_directory_is_closed_to_others_and_has_a_list_without_members) {
  const Keys keys;
  const KeyDirectory made = KeyDirectory::make(keys.path());
  BOOST_TEST(made.list().serial == 1U);
  BOOST_TEST(made.list().members.empty());
  for (const auto& [name, mode] : std::vector<std::pair<std::string, mode_t>>{{"", 0700},
                                                                              {"cluster.key", 0600},
                                                                              {"nodes", 0700},
                                                                              {"nodes/cluster.members", 0644},
                                                                              {"last.members", 0644}}) {
    struct stat status {};
    BOOST_REQUIRE(::stat((keys.path() + "/" + name).c_str(), &status) == 0);
    BOOST_TEST((status.st_mode & 07777U) == mode, name);
  }
}

BOOST_AUTO_TEST_CASE(each_change_is_a_list_with_the_next_serial) {
  const Keys keys;
  (void)KeyDirectory::make(keys.path());
  {
    KeyDirectory directory = KeyDirectory::open(keys.path());
    directory.add({"ps", "trainer0"}, std::nullopt);
    BOOST_TEST(directory.list().serial == 2U);
    BOOST_TEST(directory.problems().empty());
  }
  PublicKey before;
  {
    KeyDirectory directory = KeyDirectory::open(keys.path());
    BOOST_TEST_REQUIRE(directory.list().members.size() == 2U);
    before = directory.list().find("ps")->key;
    directory.rotate({"ps"}, std::nullopt);
    BOOST_TEST(directory.problems().empty());
  }
  KeyDirectory directory = KeyDirectory::open(keys.path());
  BOOST_TEST(directory.list().serial == 3U);
  BOOST_TEST((directory.list().find("ps")->key != before));
  BOOST_TEST(directory.list().members[0].name == "ps");  // the seed stays the first
  directory.revoke({"trainer0"});
  BOOST_TEST(directory.list().serial == 4U);
  BOOST_TEST(!fs::exists(directory.key_path("trainer0")));
  BOOST_TEST(directory.problems().empty());
}

BOOST_AUTO_TEST_CASE(a_key_behind_a_link_is_replaced_where_it_lies) {
  const Keys keys;
  KeyDirectory directory = KeyDirectory::make(keys.path());
  directory.add({"ps"}, std::nullopt);
  const fs::path elsewhere = fs::path(keys.path()).parent_path() / "elsewhere";
  fs::create_directory(elsewhere);
  fs::rename(directory.key_path("ps"), elsewhere / "ps.key");
  fs::create_symlink("../../elsewhere/ps.key", directory.key_path("ps"));
  directory.rotate({"ps"}, std::nullopt);
  BOOST_TEST(fs::is_symlink(directory.key_path("ps")));
  const NodeKeyFile file = NodeKeyFile::load((elsewhere / "ps.key").string()).value();
  BOOST_TEST((file.keys.public_key() == directory.list().find("ps")->key));
  BOOST_TEST(directory.problems().empty());
}

BOOST_AUTO_TEST_CASE(each_member_has_a_certificate_of_its_present_key_and_serial, *boost::unit_test::label("S11")) {
  const Keys keys;
  KeyDirectory directory = KeyDirectory::make(keys.path());
  const auto of = [&](const NodeName& name) {
    const NodeKeyFile file = NodeKeyFile::load(directory.key_path(name)).value();
    std::ifstream text(directory.certificate_path(name));
    const std::string all{std::istreambuf_iterator<char>(text), {}};
    const Certificate certificate = Certificate::parse(all, file.verifying_key);
    BOOST_TEST((certificate.member == *directory.list().find(name)));
    BOOST_TEST((certificate.member.key == file.keys.public_key()));
    BOOST_TEST(certificate.cluster_id == directory.list().cluster_id);
    return certificate.serial;
  };
  directory.add({"ps", "guest"}, std::nullopt);
  directory.add({"trainer"}, std::nullopt);
  BOOST_TEST(of("ps") == 2U);
  BOOST_TEST(of("trainer") == 3U);
  directory.rotate({"ps"}, std::nullopt);
  BOOST_TEST(of("ps") == 4U);
  directory.grant({"guest"}, std::vector<std::string>{"eval"});
  BOOST_TEST(of("guest") == 5U);
  directory.revoke({"guest"});
  BOOST_TEST(!fs::exists(directory.certificate_path("guest")));
  BOOST_TEST(directory.problems().empty());
  std::ofstream(directory.certificate_path("guest")) << "left";
  BOOST_TEST(directory.problems() ==
             std::vector<std::string>{directory.certificate_path("guest") + " is of no member: remove it"});
}

BOOST_AUTO_TEST_CASE(what_cannot_be_done_changes_nothing) {
  const Keys keys;
  KeyDirectory directory = KeyDirectory::make(keys.path());
  directory.add({"ps"}, std::nullopt);
  BOOST_TEST(refusal_of([&] {
               directory.add({"a", "ps"}, std::nullopt);
             }) == "ps is a member already: `troupe keys rotate ps` gives it a new key");
  BOOST_TEST(refusal_of([&] { directory.add({"a", "a"}, std::nullopt); }) == "\"a\" is named twice");
  BOOST_TEST(refusal_of([&] { directory.add({"../x"}, std::nullopt); }) ==
             "\"../x\" is no node's name: 1 to 127 of A-Z a-z 0-9 - _ : .");
  const std::string long_name(128, 'n');
  BOOST_TEST(refusal_of([&] { directory.add({long_name}, std::nullopt); }) ==
             "\"" + long_name.substr(1) + "\" is no node's name: 1 to 127 of A-Z a-z 0-9 - _ : .");
  BOOST_TEST(refusal_of([&] { directory.add({".."}, std::nullopt); }) == "\"..\" cannot be the name of a file");
  BOOST_TEST(refusal_of([&] { directory.revoke({"ps", "sp"}); }) == "\"sp\" is no member; members are: ps");
  BOOST_TEST(refusal_of([&] { directory.rotate({"sp"}, std::nullopt); }) == "\"sp\" is no member; members are: ps");
  std::ofstream(directory.key_path("b")) << "somebody's";
  BOOST_TEST(refusal_of([&] {
               directory.add({"a", "b"}, std::nullopt);
             }) == "cannot make " + directory.key_path("b") + ": File exists");
  BOOST_TEST(!fs::exists(directory.key_path("a")));
  BOOST_TEST(directory.list().serial == 2U);
  BOOST_TEST(directory.problems() == std::vector{directory.key_path("b") + " is of no member: remove it"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_directory_is_made_once_and_changed_by_one_at_a_time) {
  const Keys keys;
  BOOST_TEST(refusal_of([&] { (void)KeyDirectory::open(keys.path()); }) ==
             "there is no " + keys.path() + "/cluster.key: `troupe keys init-cluster " + keys.path() + "` makes it");
  const KeyDirectory made = KeyDirectory::make(keys.path());
  BOOST_TEST(refusal_of([&] { (void)KeyDirectory::make(keys.path()); }) ==
             keys.path() + "/cluster.key is there already: it is the key of a cluster");
  BOOST_TEST(refusal_of([&] { (void)KeyDirectory::open(keys.path()); }) ==
             keys.path() + "/cluster.key is in use by another `troupe keys`");
}

BOOST_AUTO_TEST_CASE(readers_hold_a_directory_together_and_a_change_waits_for_them) {
  const Keys keys;
  KeyDirectory::make(keys.path()).add({"ps"}, std::nullopt);
  std::optional<KeyDirectory> reader = KeyDirectory::open_to_read(keys.path());
  BOOST_TEST(KeyDirectory::open_to_read(keys.path()).problems().empty());
  std::future<void> change = std::async(std::launch::async, [&] { KeyDirectory::open(keys.path()).revoke({"ps"}); });
  BOOST_TEST((change.wait_for(std::chrono::milliseconds{30}) == std::future_status::timeout));
  BOOST_TEST(reader->list().members.size() == 1U);
  reader.reset();
  BOOST_CHECK_NO_THROW(change.get());
  BOOST_TEST(KeyDirectory::open_to_read(keys.path()).list().members.empty());
}

BOOST_AUTO_TEST_CASE(a_reader_waits_for_a_change_that_is_under_way) {
  const Keys keys;
  std::optional<KeyDirectory> change = KeyDirectory::make(keys.path());
  std::future<std::size_t> count =
      std::async(std::launch::async, [&] { return KeyDirectory::open_to_read(keys.path()).list().members.size(); });
  change->add({"ps"}, std::nullopt);
  change.reset();
  BOOST_TEST(count.get() <= 1U);
}

BOOST_AUTO_TEST_CASE(a_directory_that_could_not_be_made_can_be_made_later) {
  const Keys keys;
  const fs::path nodes = fs::path(keys.path()) / "nodes";
  fs::create_directory(keys.path());
  const auto make = [&] { (void)KeyDirectory::make(keys.path()); };
  BOOST_REQUIRE(::chmod(keys.path().c_str(), 0777) == 0);
  BOOST_TEST(refusal_of(make) ==
             "others may write to the directory " + keys.path() + ", mode 0777: chmod go-w " + keys.path());
  BOOST_TEST(fs::is_empty(keys.path()));  // neither "nodes" nor a key that a second try would not replace
  BOOST_REQUIRE(::chmod(keys.path().c_str(), 0700) == 0);
  fs::create_directory(nodes);
  BOOST_REQUIRE(::chmod(nodes.c_str(), 0755) == 0);
  BOOST_TEST(refusal_of(make) == nodes.string() + " has mode 0755: others may open it: chmod 0700 " + nodes.string());
  BOOST_REQUIRE(::chmod(nodes.c_str(), 0700) == 0);
  std::ofstream(nodes / "ps.key") << "somebody's";
  BOOST_TEST(refusal_of(make) ==
             nodes.string() + " is there already and not empty: it may have keys of another cluster");
  BOOST_TEST(fs::exists(nodes / "ps.key"));
  fs::remove(nodes / "ps.key");
  BOOST_TEST(KeyDirectory::make(keys.path()).list().serial == 1U);
}

BOOST_AUTO_TEST_CASE(a_list_that_is_not_the_one_signed_last_is_not_changed, *boost::unit_test::label("S11")) {
  const Keys keys;
  const fs::path backup = keys.directory.path() / "backup";
  const auto copied = fs::copy_options::overwrite_existing;
  std::string list;
  std::string last;
  {
    KeyDirectory directory = KeyDirectory::make(keys.path());
    directory.add({"ps", "thief"}, std::nullopt);
    list = directory.list_path();
    last = directory.last_list_path();
    fs::copy_file(list, backup);
    directory.revoke({"thief"});
    fs::copy_file(backup, list, copied);
  }
  const auto open = [&] { (void)KeyDirectory::open(keys.path()); };
  const std::string why =
      ", and not the list 3 that was signed last: nodes would ignore a second list of a serial that they know, and who "
      "was taken out is in again: cp " +
      last + " " + list;
  BOOST_TEST(refusal_of(open) == list + " is list 2" + why);
  BOOST_TEST(KeyDirectory::open_to_read(keys.path()).problems().at(0) == list + " is list 2" + why);
  fs::copy_file(last, list, copied);
  {
    KeyDirectory directory = KeyDirectory::open(keys.path());
    BOOST_TEST(directory.list().find("thief") == nullptr);
    directory.add({"guest"}, std::nullopt);
    BOOST_TEST(directory.list().serial == 4U);
    BOOST_TEST(directory.problems().empty());
  }
  MemberList second = KeyDirectory::open(keys.path()).list();
  second.members.pop_back();
  std::ofstream(list) << second.signed_by(ClusterKeyFile::load(keys.path() + "/cluster.key").value().key);
  BOOST_TEST(refusal_of(open).starts_with(list + " is list 4, and not the list 4 that was signed last"));
}

BOOST_AUTO_TEST_CASE(a_list_that_was_kept_by_no_change_or_by_an_earlier_one_is_no_obstacle) {
  const Keys keys;
  KeyDirectory::make(keys.path()).add({"ps"}, std::nullopt);
  const std::string last = keys.path() + "/last.members";
  const fs::path earlier = keys.directory.path() / "earlier";
  fs::copy_file(last, earlier);
  KeyDirectory::open(keys.path()).revoke({"ps"});
  fs::copy_file(earlier, last, fs::copy_options::overwrite_existing);  // the power failed after the list was written
  KeyDirectory::open(keys.path()).add({"ps"}, std::nullopt);
  fs::remove(last);  // a directory of an older version
  KeyDirectory::open(keys.path()).add({"guest"}, std::nullopt);
  BOOST_TEST(KeyDirectory::open(keys.path()).list().serial == 5U);
  BOOST_TEST(fs::exists(last));
  std::ofstream(last) << "half";
  BOOST_TEST(refusal_of([&] { (void)KeyDirectory::open(keys.path()); }) ==
             last + ": line 1: \"troupe-members\" is not there: it must be the list that was signed last");
}

BOOST_AUTO_TEST_CASE(files_that_are_not_right_are_named) {
  const Keys keys;
  KeyDirectory directory = KeyDirectory::make(keys.path());
  directory.add({"ps", "trainer0", "trainer1"}, std::nullopt);
  fs::remove(directory.key_path("trainer1"));  // moved to its node
  BOOST_TEST(directory.problems().empty());
  BOOST_REQUIRE(::chmod(directory.key_path("ps").c_str(), 0644) == 0);
  std::ofstream(directory.key_path("trainer0") + ".new") << "half";
  const std::vector<std::string> expected{
      directory.key_path("ps") + " has mode 0644: others may open it",
      directory.key_path("trainer0") + ".new was left by a change that did not end"};
  BOOST_TEST(directory.problems() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_key_or_a_certificate_of_another_node_is_named) {
  const Keys keys;
  KeyDirectory directory = KeyDirectory::make(keys.path());
  directory.add({"ps", "worker0", "worker1"}, std::nullopt);
  BOOST_TEST(directory.problems().empty());
  const auto copied = fs::copy_options::overwrite_existing;
  fs::copy_file(directory.key_path("worker0"), directory.key_path("ps"), copied);
  fs::copy_file(directory.certificate_path("worker0"), directory.certificate_path("worker1"), copied);
  const std::vector<std::string> expected{
      directory.key_path("ps") + " is the key of worker0",
      directory.certificate_path("worker1") + " is the certificate of worker0",
  };
  BOOST_TEST(directory.problems() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_certificate_that_is_old_changed_or_not_signed_is_named) {
  const Keys keys;
  KeyDirectory directory = KeyDirectory::make(keys.path());
  directory.add({"old", "called", "changed", "foreign", "later"}, std::nullopt);
  const auto path = [&](const NodeName& name) { return directory.certificate_path(name); };
  const auto read = [&](const NodeName& name) {
    std::ifstream file(path(name));
    return std::string{std::istreambuf_iterator<char>(file), {}};
  };
  const std::string old = read("old");
  const std::string called = read("called");
  std::string changed = read("changed");
  changed.replace(changed.find("serial 2"), 8, "serial 1");
  directory.rotate({"old"}, std::nullopt);                        // serial 3
  directory.grant({"called"}, std::vector<std::string>{"eval"});  // serial 4
  std::ofstream(path("old")) << old;
  std::ofstream(path("called")) << called;
  std::ofstream(path("changed")) << changed;
  const MemberList& list = directory.list();
  std::ofstream(path("foreign")) << Certificate{list.cluster_id, 2, *list.find("foreign")}.signed_by(
      SigningKey::random());
  const SigningKey signer = ClusterKeyFile::load(keys.path() + "/cluster.key").value().key;
  std::ofstream(path("later")) << Certificate{list.cluster_id, 5, *list.find("later")}.signed_by(signer);
  const std::vector<std::string> expected{
      path("called") + " is an old one: it has another grant than the list",
      path("changed") + ": was not signed by the key of this cluster, or was changed since",
      path("foreign") + ": was not signed by the key of this cluster, or was changed since",
      path("later") + " has serial 5, and the list 4: the list is an old one",
      path("old") + " is an old one: it has another key than the list",
  };
  BOOST_TEST(directory.problems() == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
