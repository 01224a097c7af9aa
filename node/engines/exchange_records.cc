#include "node/engines/exchange_records.h"

#include <fmt/format.h>

#include <stdexcept>

#include "node/keys/word_lines.h"

namespace troupe::detail {
namespace {

constexpr std::size_t kNameMax = 64;  // of a node in a cluster file

PublicKey read_key(WordLines& lines, std::string_view word) {
  PublicKey key;
  lines.bytes(word, key.bytes);
  return key;
}

RunRecord::Member read_member(WordLines& lines) {
  constexpr std::string_view kWord = "member";
  std::string_view line = lines.value(kWord);
  RunRecord::Member member;
  member.name = lines.checked_name(kWord, WordLines::next_word(line), kNameMax);
  lines.read_bytes(kWord, WordLines::next_word(line), member.key.bytes);
  lines.read_bytes(kWord, WordLines::next_word(line), member.secret.bytes);
  if (!line.empty()) lines.wrong(kWord, "has more words than three");
  return member;
}

}  // namespace

std::string text_of(const TaskRecord& record) {
  std::string text = fmt::format("troupe-task 1\njob {}\nrank {}\nname {}\nhost {}\nkey {}\n", record.job, record.rank,
                                 record.name, record.host, hex_of(record.key.bytes));
  if (record.answers) text += fmt::format("answers {}\n", hex_of(record.answers->bytes));
  return text;
}

std::string text_of(const RunRecord& record) {
  std::string text =
      fmt::format("troupe-run 1\njob {}\ncluster {}\nseed {}\n", record.job, record.cluster_id, record.seed);
  for (const RunRecord::Member& member : record.members) {
    text += fmt::format("member {} {} {}\n", member.name, hex_of(member.key.bytes), hex_of(member.secret.bytes));
  }
  return text;
}

TaskRecord parse_task(std::string_view text) {
  WordLines reader(text);
  reader.kind("troupe-task");
  TaskRecord record;
  record.job = reader.value("job");
  record.rank = reader.number("rank");
  record.name = reader.name("name", kNameMax);
  record.host = reader.value("host");
  record.key = read_key(reader, "key");
  if (reader.at("answers")) record.answers = read_key(reader, "answers");
  reader.end();
  return record;
}

RunRecord parse_run(std::string_view text, std::size_t members_max) {
  WordLines reader(text);
  reader.kind("troupe-run");
  RunRecord record;
  record.job = reader.value("job");
  record.cluster_id = reader.name("cluster", kNameMax);
  record.seed = reader.value("seed");
  while (!reader.at_end()) {
    if (record.members.size() == members_max) throw std::invalid_argument("there are too many members");
    record.members.push_back(read_member(reader));
  }
  return record;
}

}  // namespace troupe::detail
