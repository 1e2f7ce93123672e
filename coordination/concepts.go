package coordination

// What each concept adds to its category.
const (
	minor    int16 = 1 // goes along with the work, does not name it
	typical  int16 = 2 // usual words for the work
	decisive int16 = 3 // names the work
	specific int16 = 4 // names the work and outweighs a decisive word beside it
)

// concept is one idea with all its words in Korean and English. It counts once per text, however often it occurs, so that the category
// does not depend on the language.
//
// English words are whole words; a phrase may be written with spaces, hyphens or line breaks. Korean words begin a word, or follow
// another known word in a compound, and may have any suffix: 배포를, 재배포, 회귀테스트. Longer phrases hide the words inside them. Alternatives
// are separated by "|".
type concept struct {
	tag    string // the sub-tag
	weight int16
	verbs  string // regular: deploy, deploys, deployed, deploying
	nouns  string // regular: incident, incidents
	words  string // as they are
	korean string
}

var conceptTable = [categoryCount][]concept{
	{ // engineering_build
		{"구현", decisive, "implement|develop|build|rebuild|rewrite", "implementation", "development|built|rebuilt|rewrote|rewritten|coding", "구현|개발|만들어|만들었|빌드|코딩"},
		{"리팩토링", decisive, "refactor|restructure", "", "refactoring", "리팩토링|리팩터링|리팩토|리팩터"},
		{"버그 수정", decisive, "", "bugfix|hotfix", "bug fix|bug fixes|fix the bug|fix a bug|fixed the bug|fixing the bug|fix this bug", "버그 수정|버그수정|핫픽스|버그를 수정|버그를 고"},
		{"버그", typical, "", "bug|defect", "", "버그|결함"},
		{"수정", typical, "fix|patch", "", "debug|debugs|debugged|debugging", "수정|고쳐|고쳤|고치|디버깅|디버그|패치"},
		{"마이그레이션", typical, "migrate", "migration", "", "마이그레이션|포팅"},
		{"코드 리뷰", typical, "", "pull request|code review|pr", "review the code|review my code", "코드 리뷰|코드리뷰|풀 리퀘스트|풀리퀘스트|피알"},
		{"기능", minor, "", "feature", "functionality", "기능|피처"},
		{"코드", minor, "", "function|module|api|endpoint|codebase|component|frontend|backend", "code", "코드|함수|모듈|엔드포인트|컴포넌트|프론트엔드|백엔드"},
		{"화면", minor, "", "button|widget|screen|dashboard", "ui", "버튼|위젯|화면|대시보드"},
		{"커밋", minor, "merge|rebase", "branch", "commit|commits|committed|committing", "커밋|머지|브랜치"},
		{"계약 테스트", minor, "", "api contract|data contract|smart contract|interface contract", "", "api 계약|인터페이스 계약"},
	},
	{ // infra_ops
		{"배포", decisive, "deploy|redeploy|release|roll out", "deployment|rollout", "shipped to production|ship to production", "배포|재배포|릴리스|릴리즈|롤아웃"},
		{"출시", typical, "launch", "", "", "출시"},
		{"롤백", decisive, "roll back", "rollback", "revert the deploy", "롤백"},
		{"장애", decisive, "", "incident|outage|downtime", "on call|oncall|service is down|server is down|is down", "장애|먹통|다운됐|다운되|다운됨|온콜"},
		{"인프라", decisive, "", "", "infra|infrastructure|devops|sre|terraform|nginx", "인프라|테라폼|데브옵스"},
		{"쿠버네티스", decisive, "", "", "k8s|kubernetes|helm", "쿠버네티스"},
		{"도커", decisive, "", "docker image", "docker|dockerfile", "도커"},
		{"컨테이너", typical, "", "container", "", "컨테이너"},
		{"서버", typical, "", "server|cluster|instance|test server|test environment", "", "서버|클러스터|인스턴스|테스트 서버|테스트서버|테스트 환경|테스트환경"},
		{"운영", typical, "", "", "ops|operations|production|prod|staging", "운영|프로덕션|스테이징"},
		{"모니터링", typical, "monitor", "alert|alarm", "grafana|prometheus|healthcheck|health check|health checks", "모니터링|알람|경보|헬스체크|헬스 체크"},
		{"파이프라인", typical, "", "pipeline", "ci|ci/cd|github actions|jenkins", "파이프라인"},
		{"백업", typical, "restore", "backup", "back up|backed up|backing up", "백업|복구|복원"},
		{"재시작", typical, "restart|reboot", "", "", "재시작|재기동|재부팅"},
		{"인증서", typical, "", "certificate|firewall|load balancer", "ssl|tls|dns", "인증서|방화벽|로드밸런서|로드 밸런서"},
		{"용량", typical, "autoscale|scale up|scale out", "", "autoscaling|scaling|cpu|memory usage|disk|disk usage", "디스크|트래픽|스케일링|오토스케일링|메모리 사용량"},
		{"환경 설정", minor, "", "environment|env var|environment variable", "config|configuration", "환경 변수|환경변수|환경 설정|환경설정|환경"},
	},
	{ // qa_validation
		{"테스트 작성", specific, "", "unit test|integration test|regression test|smoke test|load test|stress test|acceptance test|contract test|test case|test suite|e2e test", "unit testing|integration testing|regression testing|load testing", "단위 테스트|단위테스트|통합 테스트|통합테스트|회귀 테스트|회귀테스트|부하 테스트|부하테스트|스모크 테스트|인수 테스트|계약 테스트|테스트 케이스|테스트케이스|테스트 코드|e2e 테스트"},
		{"테스트", decisive, "test|retest", "tester", "testing", "테스트|테스팅"},
		{"회귀", decisive, "", "regression", "", "회귀"},
		{"검증", decisive, "validate", "validation|verification", "verify|verifies|verified|verifying", "검증"},
		{"QA", decisive, "", "", "qa|quality assurance|quality check|quality checks", "큐에이|품질 점검|품질 확인|품질 검사"},
		{"품질", typical, "", "", "quality", "품질"},
		{"e2e", decisive, "", "", "e2e|end to end|playwright|cypress", ""},
		{"재현", typical, "reproduce", "repro", "repro steps|steps to reproduce", "재현"},
		{"커버리지", typical, "", "", "coverage|test coverage", "커버리지"},
		{"점검", minor, "inspect", "checklist|double check|sanity check", "", "점검|체크리스트"},
	},
	{ // planning_decision
		{"설계", decisive, "design|redesign|architect", "architecture", "", "설계|아키텍처|재설계|디자인"},
		{"기획", decisive, "", "requirement|product spec|prd|user story", "planning|user stories", "기획|요구사항|요건"},
		{"의사결정", decisive, "decide", "decision", "decision making", "의사결정|의사 결정|결정"},
		{"우선순위", decisive, "prioritize|prioritise", "", "priority|priorities|prioritization", "우선순위|우선 순위"},
		{"계획", typical, "", "plan", "planned", "계획|플랜"},
		{"범위", typical, "", "", "scope|scoping|out of scope", "범위|스코프"},
		{"일정", typical, "schedule|reschedule", "milestone|deadline|timeline|sprint", "", "일정|마일스톤|스프린트|마감"},
		{"제안", typical, "propose", "proposal|rfc|adr", "", "제안"},
		{"정책", minor, "", "", "policy|policies", "정책"},
		{"논의", minor, "", "trade off|tradeoff|agenda|kickoff", "", "트레이드오프|안건|킥오프"},
	},
	{ // research_analysis
		{"원인", specific, "", "root cause|root cause analysis", "rca|why it happened|cause of|find the cause|the cause", "원인|근본 원인"},
		{"조사", decisive, "investigate|research", "investigation|user research|market research", "", "조사|리서치"},
		{"분석", decisive, "analyze|analyse", "", "analysis|analyses|analytics", "분석|회귀분석|회귀 분석"},
		{"비교", decisive, "compare", "comparison", "versus|vs|pros and cons", "비교|장단점"},
		{"벤치마크", decisive, "benchmark", "profiler", "profiling", "벤치마크|벤치마킹|프로파일링|성능 측정"},
		{"타당성", typical, "", "proof of concept|poc|survey", "feasibility|literature", "타당성|개념 검증|개념검증|설문|사례"},
		{"알아보기", minor, "look into", "", "dig into|digging into", "알아봐|알아보|알아볼"},
		{"대안", minor, "evaluate", "alternative|candidate", "", "대안|후보"},
	},
	{ // docs_knowledge
		{"문서", decisive, "document", "doc|document", "documentation", "문서"},
		{"가이드", decisive, "", "guide|tutorial|user manual|handbook|runbook|playbook|user guide", "manuals|instruction manual", "가이드|매뉴얼|튜토리얼|설명서|사용법|런북|플레이북"},
		{"위키", decisive, "", "wiki|knowledge base|faq", "readme|confluence|notion page", "위키|리드미|지식 베이스|지식베이스|지식화|자주 묻는 질문"},
		{"변경 기록", specific, "", "release note|changelog|meeting note|postmortem", "meeting minutes|minutes", "릴리스 노트|릴리즈 노트|릴리스노트|릴리즈노트|변경 기록|변경 이력|변경이력|체인지로그|회의록|포스트모템|장애 보고서"},
		{"정리", typical, "summarize|summarise", "summary|write up|recap", "summaries", "정리|요약"},
		{"기록", typical, "", "", "write down|written down|for the record", "기록|지식"},
		{"주석", typical, "", "docstring|code comment", "", "주석"},
	},
	{ // growth_marketing
		{"마케팅", decisive, "", "marketer", "marketing|seo|go to market", "마케팅|홍보"},
		{"광고", decisive, "advertise", "ad|advertisement", "advertising|ad copy", "광고"},
		{"캠페인", decisive, "", "campaign|promotion|newsletter|influencer|press release", "", "캠페인|프로모션|뉴스레터|인플루언서|보도자료|보도 자료"},
		{"전환율", decisive, "", "conversion rate|funnel|signup rate", "conversion funnel", "전환율|퍼널|구매 전환|가입 전환"},
		{"실험", decisive, "", "a/b test|ab test|split test|growth experiment", "a/b testing|ab testing", "a/b 테스트|ab 테스트|a/b테스트|ab테스트|성장 실험"},
		{"성장", typical, "", "growth", "growth hacking", "성장|그로스"},
		{"카피", typical, "", "landing page|tagline|slogan|headline", "copywriting|marketing copy", "카피|랜딩 페이지|랜딩페이지|슬로건|홍보 문구|광고 문구"},
		{"유입", typical, "", "", "user acquisition|acquisition|retention|virality|social media|sns", "유입|리텐션|바이럴|신규 가입|소셜 미디어"},
		{"실험 결과", typical, "", "experiment", "", "실험"},
		{"전환", minor, "", "conversion", "", "전환"},
	},
	{ // customer_community
		{"문의", specific, "", "support ticket|customer inquiry|support request|customer question", "customer inquiries|inquiries", "고객 문의|고객문의|사용자 문의|문의"},
		{"고객", decisive, "", "customer", "", "고객"},
		{"CS", decisive, "", "", "cs|customer support|customer service|customer care|helpdesk|help desk|support team", "고객센터|고객 센터|고객 지원|고객지원|응대|상담"},
		{"커뮤니티", decisive, "", "moderator|forum|meetup", "community|communities|moderation", "커뮤니티|포럼|밋업|모더레이터"},
		{"불만", decisive, "complain", "complaint|refund|refund request", "", "불만|환불|클레임|컴플레인"},
		{"피드백", typical, "", "user review|testimonial", "feedback|user feedback", "피드백|후기|사용자 의견|사용자 반응"},
		{"티켓", typical, "", "ticket", "", "티켓"},
		{"지원", minor, "support", "", "", "지원"},
	},
	{ // legal_compliance
		{"법무", specific, "", "lawyer|attorney|lawsuit|legal review|legal risk", "legal|legally|legal team", "법무|법률|변호사|법적|소송"},
		{"컴플라이언스", decisive, "", "compliance audit", "compliance|compliant|gdpr|hipaa|soc2|soc 2|iso27001|iso 27001", "컴플라이언스|준법|준수"},
		{"약관", decisive, "", "", "terms of service|terms of use|terms and conditions|tos|eula", "약관"},
		{"규정", decisive, "", "regulation", "regulatory", "규정|규제|법규"},
		{"계약", decisive, "", "contract|nda|non disclosure agreement|license agreement|data processing agreement", "", "계약|비밀유지"},
		{"개인정보", decisive, "", "privacy policy|data subject request", "privacy|pii|personal data|personal information|privacy policies", "개인정보|처리방침|처리 방침"},
		{"라이선스", decisive, "", "license|licence|copyright|trademark|patent", "licensing", "라이선스|라이센스|저작권|상표|특허"},
		{"감사", typical, "audit", "", "", "회계 감사|보안 감사|감사 대응|감사 자료"},
		{"리스크", minor, "", "risk", "", "리스크"},
	},
	{ // biz_strategy
		{"KPI", decisive, "", "kpi|okr|north star metric", "", "핵심 지표|핵심지표|핵심 성과 지표|성과 지표"},
		{"매출", decisive, "", "profit|profit margin|sales target|sales figure", "revenue|revenues|sales|mrr|profitability", "매출|수익|손익|영업이익"},
		{"전략", decisive, "", "", "strategy|strategies|strategic", "전략"},
		{"비즈니스", decisive, "", "business|business model|business case", "business development|biz dev|bizdev", "비즈니스|사업"},
		{"로드맵", decisive, "", "roadmap", "", "로드맵"},
		{"ROI", decisive, "", "investment|investor", "roi|return on investment", "투자"},
		{"가격", decisive, "", "price|pricing plan|pricing tier", "pricing", "가격|요금제|과금"},
		{"시장", typical, "", "competitor|partnership|market", "market share", "시장|경쟁사|파트너십|제휴"},
		{"지표", typical, "", "metric", "", "지표"},
	},
}

// misleading lists phrases that contain a concept's word with another meaning; they hide it.
const misleading = "비교적|장애인|장애물|지표면|가이드라인|기록적|전환점|결정체|유니코드|바코드|" +
	"for instance|ad hoc|code of conduct|test drive|business day|business days|business hours|price tag"

// compoundParts may stand before a concept's word in a Korean compound without being one.
const compoundParts = "재|무중단|긴급|자동|수동|신규|통합|단위|성능|부하|보안|기술|서비스|제품|사용자|데이터|프론트|앱|웹|정기|사전|사후|최종|초기|" +
	"전체|부분|시스템|네트워크|디비|결제|로그인|로그|인증|검색|화면|모바일|클라우드|라이브|롤링|카나리|블루그린|영업|사내|내부|외부|업무|프로젝트|" +
	"이용|연간|분기|월간|주간|핵심|구매|게임|플랫폼|에러|오류|이슈|크로스|멀티|풀스택|소프트웨어|하드웨어|알고리즘|모델|메뉴|온라인|오프라인|브랜드|국내|해외|글로벌"
