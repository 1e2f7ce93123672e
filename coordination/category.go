package coordination

import "slices"

// Category is the topic of a collaboration. There are ten of them; finer distinctions are sub-tags.
type Category string

const (
	EngineeringBuild  Category = "engineering_build"
	InfraOps          Category = "infra_ops"
	QAValidation      Category = "qa_validation"
	PlanningDecision  Category = "planning_decision"
	ResearchAnalysis  Category = "research_analysis"
	DocsKnowledge     Category = "docs_knowledge"
	GrowthMarketing   Category = "growth_marketing"
	CustomerCommunity Category = "customer_community"
	LegalCompliance   Category = "legal_compliance"
	BizStrategy       Category = "biz_strategy"
)

// categoryCount is the number of categories.
const categoryCount = 10

// CategoryInfo is a category with its display name.
type CategoryInfo struct {
	Category Category
	NameKo   string
}

var categories = [categoryCount]CategoryInfo{
	{EngineeringBuild, "개발/구현"},
	{InfraOps, "인프라/운영"},
	{QAValidation, "QA/검증"},
	{PlanningDecision, "기획/의사결정"},
	{ResearchAnalysis, "조사/분석"},
	{DocsKnowledge, "문서/지식화"},
	{GrowthMarketing, "성장/마케팅"},
	{CustomerCommunity, "고객/커뮤니티"},
	{LegalCompliance, "법무/컴플라이언스"},
	{BizStrategy, "비즈니스/전략"},
}

// Categories lists the ten categories in their fixed order, which also decides ties.
func Categories() []CategoryInfo { return slices.Clone(categories[:]) }

// Valid reports whether c is one of the ten.
func (c Category) Valid() bool { return c.row() >= 0 }

// row is the index of c in the fixed order, or -1.
func (c Category) row() int {
	for i := range categories {
		if categories[i].Category == c {
			return i
		}
	}
	return -1
}

// Source says how a category was determined.
type Source string

const (
	SourceManual    Source = "manual"    // stated by the producer
	SourceRule      Source = "rule"      // words that name the work
	SourceHeuristic Source = "heuristic" // only words that accompany such work; never under RulesV1
	SourceFallback  Source = "fallback"  // no known word: by the event's role
)

func fallbackCategory(role Role) Category {
	switch role {
	case RoleOrchestration:
		return PlanningDecision
	case RoleObservability:
		return InfraOps
	}
	return EngineeringBuild
}
