package a2a

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Reasons of EndsEarly.
const (
	endedRepetition = "repetition_detected"
	endedMinimal    = "minimal_content"
	endedConclusion = "conclusion_detected"
)

const (
	similarWords  = 0.85     // two answers with a larger share of common words count as a repetition
	fewCharacters = 20       // minimum number of words of an answer
	compared      = 16 << 10 // maximum bytes of an answer that are compared
)

// conclusions are acknowledgements that an answer may begin with.
var conclusions = regexp.MustCompile(`^(?:(?:네|예)[,.!]?\s*)?(?:알겠습니다|확인했습니다|감사합니다|이해했습니다)|^완료(?:$|[\s.,!~:;)]|했|됐|되었|하였|입니)` +
	`|^(?:understood|confirmed|thanks|thank you|done|got it|noted)\b`)

// EndsEarly says why no turn follows an answer although some are left, "" if one does: repetition_detected,
// minimal_content, conclusion_detected. before is the previous answer. An answer with a question never ends the
// exchange.
func EndsEarly(text, before string) string {
	question := strings.ContainsAny(text, "?？")
	text = strings.ToLower(coordination.TrimJS(bounded(Plain(text), compared)))
	switch {
	case similarity(text, strings.ToLower(bounded(Plain(before), compared))) > similarWords:
		return endedRepetition
	case !question && utf8.RuneCountInString(text) < fewCharacters:
		return endedMinimal
	case !question && conclusions.MatchString(text):
		return endedConclusion
	}
	return ""
}

// similarity is how many of the words of two texts both have, from 0 to 1 (Jaccard's index).
func similarity(a, b string) float64 {
	ofA, all, both := map[string]bool{}, map[string]bool{}, 0
	for _, word := range strings.Fields(a) {
		ofA[word], all[word] = true, true
	}
	ofB := map[string]bool{}
	for _, word := range strings.Fields(b) {
		if ofA[word] && !ofB[word] {
			both++
		}
		ofB[word], all[word] = true, true
	}
	if len(all) == 0 {
		return 0
	}
	return float64(both) / float64(len(all))
}
