// Package search finds events by their words. Its index is in a separate file, which is fed from the log by a cursor
// and can be deleted at any time: an answer says up to which event it is complete.
//
// # What is searched
//
// The message, reply preview, title, label, description, summary and reason of an event, secrets masked; its sender
// and receiver, its type, and its taskId, workSessionId and conversationId. Of each the first 256 KiB.
//
// # When a word is found
//
// A text is read in Unicode NFC, ignoring case and the width of Latin letters. It is split into pieces: a run of
// Hangul, Han and Kana is one piece, a run of any other letters and digits is another (split after 64 characters);
// everything else (space, punctuation, emoji) only separates. Invisible format characters are ignored. So "배포 v2를
// task_ab12로" has the pieces 배포, v2, 를, task, ab12, 로.
//
// A word of a query is split in the same way, and is found where its pieces follow one another in one text:
//
//   - A single piece of Hangul, Han or Kana is found anywhere within a piece: 리뷰 in 코드리뷰를, 실패 in 실패했습니다, 뷰 in 리뷰.
//   - A single piece of other letters and digits is found where a piece begins with it: deploy in deployment, not
//     in redeploy.
//   - Of several pieces the first must end a piece (Hangul, Han, Kana) or be one (others), those between must be
//     whole pieces, and the last must begin one: ws_fx_cat finds ws_fx_cat_01, main.go finds cmd/main.go.
//
// All words of a query must be found in an event, each in any of its texts. Words in "quotes" are one word of several
// pieces. A word after a - must not be found. There is no other syntax.
//
// # How
//
// FTS5 indexes tokens that are computed here: for a run of Hangul, Han and Kana each character with the next one, and
// the last one alone. Any part of a run is then a phrase of tokens, and a single character the prefix of one. Filters
// are tokens too, in a private alphabet that does not occur in texts, so that counting and paging happen within the
// index.
package search
