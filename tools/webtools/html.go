package webtools

import (
	"context"
	"html"
	"regexp"
	"strings"
)

var (
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

// fromHTML returns the title and the readable text of a page, with the marks of Markdown for headings, links and lists, or without. It ends early
// with ctx.
func fromHTML(ctx context.Context, page string, marks bool) (title, text string, err error) {
	if m := titles.FindStringSubmatch(page); m != nil {
		title = strings.TrimSpace(spaces.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(m[1], "")), " "))
	}
	steps := []func(string) string{withoutHidden}
	if marks {
		steps = append(steps, markHeadings, replacing(anchors, "[$2]($1)"), replacing(items, "\n- "))
	}
	steps = append(steps, replacing(blocks, "\n\n"), replacing(cells, " | "), replacing(tags, ""), html.UnescapeString, replacing(spaces, " "), replacing(gaps, "\n\n"))
	for _, step := range steps {
		if err := ctx.Err(); err != nil {
			return "", "", err
		}
		page = step(page)
	}
	return title, strings.TrimSpace(page), nil
}

func replacing(pattern *regexp.Regexp, by string) func(string) string {
	return func(page string) string { return pattern.ReplaceAllString(page, by) }
}

func markHeadings(page string) string {
	return headings.ReplaceAllStringFunc(page, func(tag string) string {
		return "\n\n" + strings.Repeat("#", int(headings.FindStringSubmatch(tag)[1][0]-'0')) + " "
	})
}
