#include "node/keys/key_files.h"

#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "node/keys/key_directory.h"
#include "node/keys/member_list.h"
#include "node/keys/word_lines.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/working_directory.h"

namespace troupe {
namespace {

using std::chrono::days;
using std::chrono::system_clock;
using testing::TemporaryDirectory;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void replace_in(const std::string& path, std::string_view what, std::string_view by) {
  std::string text = text_of(path);
  const std::size_t at = text.find(what);
  BOOST_REQUIRE(at != std::string::npos);
  std::ofstream(path) << text.replace(at, what.size(), by);
}

/// A cluster of two nodes, whose files are those of `troupe keys`.
struct TwoNodes {
  TwoNodes() : made(KeyDirectory::make((directory.path() / "keys").string())) {
    made.add({"ps", "trainer0"}, std::nullopt);
  }
  [[nodiscard]] Result<NodeKeys> load(const NodeName& name, system_clock::time_point now = system_clock::now()) const {
    return NodeKeys::load(made.key_path(name), "", now);
  }
  [[nodiscard]] std::string refusal(const NodeName& name) const {
    const auto keys = load(name);
    if (keys.ok()) return "loaded";
    return (keys.error().code == ErrorCode::not_authorized ? "not authorized: " : "") + keys.error().message;
  }

  TemporaryDirectory directory;
  KeyDirectory made;
};

BOOST_AUTO_TEST_SUITE(key_files)

BOOST_AUTO_TEST_CASE(a_node_finds_its_key_the_members_and_the_secret_in_its_files) {
  const TwoNodes nodes;
  const NodeKeys ps = nodes.load("ps").value();
  const NodeKeys trainer = nodes.load("trainer0").value();
  BOOST_TEST(ps.ring.own_name() == "ps");
  BOOST_TEST(trainer.ring.own_name() == "trainer0");
  BOOST_TEST_REQUIRE(ps.ring.members().size() == 2U);
  BOOST_TEST((ps.ring.key_of("trainer0") == trainer.ring.own_keys().public_key()));
  BOOST_TEST((ps.ring.own_keys().public_key() != trainer.ring.own_keys().public_key()));
  BOOST_TEST(detail::hex_of(ps.secret->bytes()) == detail::hex_of(trainer.secret->bytes()));
  BOOST_TEST(ps.cluster_id == trainer.cluster_id);
  BOOST_TEST(ps.cluster_id == nodes.made.list().cluster_id);
  BOOST_TEST(ps.serial == 2U);
}

BOOST_AUTO_TEST_CASE(the_cluster_key_is_read_as_it_was_written) {
  const TemporaryDirectory directory;
  const std::string path = (directory.path() / "cluster.key").string();
  const ClusterKeyFile written = ClusterKeyFile::random();
  BOOST_TEST(written.save(path).ok());
  const ClusterKeyFile read = ClusterKeyFile::load(path).value();
  BOOST_TEST(read.cluster_id == written.cluster_id);
  BOOST_TEST((read.key.verifying_key() == written.key.verifying_key()));
  BOOST_TEST(detail::hex_of(read.secret->bytes()) == detail::hex_of(written.secret->bytes()));
  BOOST_TEST(text_of(path) == "troupe-cluster-key 1\ncluster " + written.cluster_id + "\nsigning-key " +
                                  detail::hex_of(written.key.seed()) + "\ncluster-secret " +
                                  detail::hex_of(written.secret->bytes()) + "\n");
}

BOOST_AUTO_TEST_CASE(a_cut_or_changed_key_file_is_refused_without_its_secrets,
                     *boost::unit_test::label("attack") * boost::unit_test::label("S13")) {
  const TwoNodes nodes;
  const std::string path = nodes.made.key_path("ps");
  const std::string text = text_of(path);
  const std::string secret = text.substr(text.find("secret-key ") + 11, 64);
  for (std::size_t size = 1; size < text.size(); ++size) {
    std::ofstream(path) << text.substr(0, size);
    const auto file = NodeKeyFile::load(path);
    BOOST_TEST_REQUIRE(!file.ok(), size);
    BOOST_TEST(file.error().message.starts_with(path + ": line "), file.error().message);
    BOOST_TEST(file.error().message.find(secret.substr(0, 8)) == std::string::npos);
  }
  std::ofstream(path) << text << "more\n";
  BOOST_TEST(NodeKeyFile::load(path).error().message == path + ": line 7: something follows the last line");
  std::ofstream(path) << text;
  BOOST_TEST(NodeKeyFile::load(path).ok());
}

BOOST_AUTO_TEST_CASE(a_list_that_the_cluster_has_not_signed_is_refused, *boost::unit_test::label("attack")) {
  const TwoNodes nodes;
  const std::string list = nodes.made.list_path();
  const std::string signed_list = text_of(list);
  replace_in(list, "serial 2", "serial 3");
  BOOST_TEST(nodes.refusal("ps") == list + ": was not signed by the key of this cluster, or was changed since");

  // The member's key is another's, and so is the signature.
  MemberList swapped = nodes.made.list();
  swapped.members[1].key = KeyPair::random().public_key();
  std::ofstream(list) << swapped.signed_by(SigningKey::random());
  BOOST_TEST(nodes.refusal("ps") == list + ": was not signed by the key of this cluster, or was changed since");

  std::ofstream(list) << signed_list;
  BOOST_TEST(nodes.refusal("ps") == "loaded");
}

BOOST_AUTO_TEST_CASE(a_key_that_is_not_that_of_its_member_is_refused, *boost::unit_test::label("attack")) {
  TwoNodes nodes;
  const std::string path = nodes.made.key_path("ps");
  const std::string other = text_of(nodes.made.key_path("trainer0"));
  replace_in(path, text_of(path).substr(text_of(path).find("secret-key "), 75),
             other.substr(other.find("secret-key "), 75));
  BOOST_TEST(nodes.refusal("ps") ==
             "not authorized: ps has another key in the list, serial 2 of " + nodes.made.list_path());
}

BOOST_AUTO_TEST_CASE(a_revoked_node_and_one_with_an_old_key_are_refused) {
  TwoNodes nodes;
  const std::string path = nodes.made.key_path("ps");
  const std::string old = text_of(path);
  nodes.made.rotate({"ps"}, std::nullopt);
  BOOST_TEST(nodes.refusal("ps") == "loaded");
  std::ofstream(path) << old;
  BOOST_TEST(nodes.refusal("ps") ==
             "not authorized: ps has another key in the list, serial 3 of " + nodes.made.list_path());
  nodes.made.revoke({"ps"});
  std::ofstream(path) << old;
  BOOST_REQUIRE(::chmod(path.c_str(), 0600) == 0);
  BOOST_TEST(nodes.refusal("ps") == "not authorized: ps is not in the list, serial 4 of " + nodes.made.list_path());
  BOOST_TEST(nodes.load("trainer0").value().ring.members().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_member_whose_time_has_passed_is_out) {
  TwoNodes nodes;
  const auto today = std::chrono::floor<days>(system_clock::now());
  nodes.made.add({"trainer1"}, today + days(1));
  BOOST_TEST(nodes.load("trainer0").value().ring.members().size() == 3U);
  BOOST_TEST(nodes.load("trainer1").ok());
  const auto after = today + days(2);
  BOOST_TEST(nodes.load("trainer0", after).value().ring.members().size() == 2U);
  const auto expired = nodes.load("trainer1", after);
  BOOST_TEST_REQUIRE(!expired.ok());
  BOOST_TEST((expired.error().code == ErrorCode::not_authorized));
  BOOST_TEST(expired.error().message.starts_with("trainer1 has expired on " + date_text(today + days(1))));
}

BOOST_AUTO_TEST_CASE(relative_paths_are_those_of_the_directory_at_the_start) {
  namespace fs = std::filesystem;
  TwoNodes nodes;
  const fs::path place = fs::path(nodes.made.list_path()).parent_path();
  const auto load_in_place = [&](const std::string& members) {
    const testing::WorkingDirectory there(place);
    return NodeKeys::load("ps.key", members, system_clock::now()).value();
  };
  const std::shared_ptr<detail::MemberFile> found = load_in_place("").members;
  const std::shared_ptr<detail::MemberFile> given = load_in_place("cluster.members").members;
  BOOST_TEST(found->paths().key == nodes.made.key_path("ps"));
  BOOST_TEST(found->paths().certificate == nodes.made.certificate_path("ps"));
  BOOST_TEST(found->paths().kept == (place / "ps.told").string());
  nodes.made.revoke({"trainer0"});
  for (const auto& members : {found, given}) {
    BOOST_TEST(members->paths().list == nodes.made.list_path());
    const auto news = members->look(system_clock::now());
    BOOST_TEST_REQUIRE(news.members.has_value());
    BOOST_TEST(news.members->size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE(files_of_two_clusters_do_not_fit) {
  const TwoNodes one;
  const TwoNodes two;
  const auto mixed = NodeKeys::load(one.made.key_path("ps"), two.made.list_path(), system_clock::now());
  BOOST_TEST_REQUIRE(!mixed.ok());
  BOOST_TEST(mixed.error().message ==
             two.made.list_path() + ": was not signed by the key of this cluster, or was changed since");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
