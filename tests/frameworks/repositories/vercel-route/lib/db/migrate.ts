import { readFileSync } from "node:fs";

const runMigrate = async () => {
  const url = process.env.DATABASE_URL;
  if (!url) throw new Error("DATABASE_URL is not defined");
  console.log("Running migrations ...", readFileSync(process.argv[2], "utf8").length);
};

runMigrate().catch(() => process.exit(1));
