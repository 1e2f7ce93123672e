package webtools

import (
	"html"
	"regexp"
	"strings"
)

var (
	unseen   = regexp.MustCompile(`(?is)<!--.*?-->|<(?:script|style|noscript|template|svg|head)\b[^>]*>.*?</(?:script|style|noscript|template|svg|head)\s*>`)
	titles   = regexp.MustCompile(`(?is)<title\b[^>]*>(.*?)</title\s*>`)
	headings = regexp.MustCompile(`(?i)<h([1-6])\b[^>]*>`)
	anchors  = regexp.MustCompile(`(?is)<a\b[^>]*?\bhref\s*=\s*["']?([^"'\s>]+)["']?[^>]*>(.*?)</a\s*>`)
	items    = regexp.MustCompile(`(?i)<li\b[^>]*>`)
	blocks   = regexp.MustCompile(`(?i)</?(?:p|div|section|article|main|header|footer|nav|aside|ul|ol|table|tr|h[1-6]|blockquote|pre|form|br|hr)\b[^>]*>`)
	cells    = regexp.MustCompile(`(?i)</t[dh]\s*>`)
	tags     = regexp.MustCompile(`(?s)<[^>]*>`)
	spaces   = regexp.MustCompile(`[ \t\r\f\x{a0}]+`)
	gaps     = regexp.MustCompile(`\n\s*\n\s*`)
)

// fromHTML returns the title and the readable text of a page, with the marks of Markdown for headings, links and lists, or without.
func fromHTML(page string, marks bool) (title, text string) {
	if m := titles.FindStringSubmatch(page); m != nil {
		title = strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(m[1], "")), " "))
	}
	page = unseen.ReplaceAllString(page, " ")
	if marks {
		page = headings.ReplaceAllStringFunc(page, func(tag string) string {
			return "\n\n" + strings.Repeat("#", int(headings.FindStringSubmatch(tag)[1][0]-'0')) + " "
		})
		page = anchors.ReplaceAllString(page, "[$2]($1)")
		page = items.ReplaceAllString(page, "\n- ")
	}
	page = cells.ReplaceAllString(blocks.ReplaceAllString(page, "\n\n"), " | ")
	page = spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, "")), " ")
	return title, strings.TrimSpace(gaps.ReplaceAllString(page, "\n\n"))
}
